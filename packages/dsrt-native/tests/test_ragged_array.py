"""RaggedArray: packed records of a batch."""

import numpy as np
import pytest

from dsrt_native import RaggedArray


def packed(*records: np.ndarray) -> RaggedArray:
    values = np.concatenate([r.ravel() for r in records]) if records else np.empty(0, np.int32)
    offsets = np.cumsum([0, *(r.size for r in records)], dtype=np.int64)
    shapes = np.array([r.shape for r in records], np.int64) if records and records[0].ndim > 1 else None
    return RaggedArray(values, offsets, shapes)


def test_it_is_a_tuple_of_three_and_not_a_sequence_of_records():
    ragged = packed(np.arange(3), np.arange(2), np.arange(4), np.arange(1))
    assert len(ragged) == 3
    values, offsets, shapes = ragged
    assert values is ragged.values
    assert offsets is ragged.offsets
    assert shapes is None


def test_lengths_count_elements():
    assert packed(np.arange(3), np.arange(0), np.arange(2)).lengths().tolist() == [3, 0, 2]
    assert packed(np.zeros((2, 3)), np.zeros((0, 4))).lengths().tolist() == [6, 0]
    assert packed().lengths().tolist() == []
    assert packed(np.arange(3)).lengths().dtype == np.int64


def test_to_list_gives_views_of_the_records_shapes():
    ragged = packed(np.arange(6).reshape(2, 3), np.arange(0).reshape(0, 4), np.arange(2).reshape(2, 1))
    records = ragged.to_list()
    assert [r.tolist() for r in records] == [[[0, 1, 2], [3, 4, 5]], [], [[0], [1]]]
    assert [r.shape for r in records] == [(2, 3), (0, 4), (2, 1)]
    records[0][0, 0] = 99
    assert ragged.values[0] == 99
    assert packed().to_list() == []


def test_to_padded_fills_behind_the_records():
    ragged = packed(np.array([1, 2, 3]), np.array([], int), np.array([4]))
    assert ragged.to_padded(-1).tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
    assert ragged.to_padded(0, 4).tolist() == [[1, 2, 3, 0], [0, 0, 0, 0], [4, 0, 0, 0]]
    assert ragged.to_padded(0).dtype == ragged.values.dtype
    assert packed().to_padded(0).shape == (0, 0)
    assert packed(np.array([], int)).to_padded(0, 2).tolist() == [[0, 0]]


def test_to_padded_fills_bools_with_bools_only():
    ragged = packed(np.array([True, False]), np.array([False]))
    for fill in (False, 0, np.False_):
        assert ragged.to_padded(fill).tolist() == [[True, False], [False, False]]
    assert ragged.to_padded(True).tolist() == [[True, False], [False, True]]
    for fill in (-100, 2, 0.5, None):
        with pytest.raises(ValueError, match=f"fill={fill}: "):
            ragged.to_padded(fill)


def test_to_padded_pads_every_axis():
    ragged = packed(np.array([[1, 2]]), np.array([[3], [4]]), np.empty((0, 3), int))
    assert ragged.to_padded(0).tolist() == [
        [[1, 2, 0], [0, 0, 0]],
        [[3, 0, 0], [4, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
    ]
    assert ragged.to_padded(0, (3, 3)).shape == (3, 3, 3)


def test_a_record_that_does_not_fit_is_named_and_never_cut():
    ragged = packed(np.arange(2), np.arange(5))
    with pytest.raises(ValueError, match=r"record 1 of the batch has the shape \(5,\).*needs \(5,\)"):
        ragged.to_padded(0, 4)
    with pytest.raises(ValueError, match="is for 2 axes; these records have 1"):
        ragged.to_padded(0, (5, 5))


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("uint16", -100),
        ("uint16", 2**16),
        ("int8", 0.5),
        ("int64", np.nan),
        ("int64", 2**63),
        ("uint8", None),
    ],
)
def test_a_fill_that_the_dtype_cannot_hold_is_refused_and_never_wrapped_or_cut(dtype, fill):
    ragged = packed(np.array([1, 2], dtype), np.array([3], dtype))
    with pytest.raises(ValueError, match=rf"fill=.*the records are {dtype}.*fields=\{{name: 'int64'\}}"):
        ragged.to_padded(fill)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("uint16", 2**16 - 1),
        ("int8", np.int64(-128)),
        ("uint64", 2**64 - 1),
        ("float32", -0.5),
        ("bool", True),
    ],
)
def test_a_fill_that_the_dtype_holds_is_what_stands_there(dtype, fill):
    padded = packed(np.array([1, 1], dtype), np.array([1], dtype)).to_padded(fill)
    assert padded.dtype == dtype
    assert padded.tolist() == [[1, 1], [1, fill]]


def test_a_length_is_an_integer_of_any_kind():
    ragged = packed(np.array([1, 2]), np.array([3]))
    for length in (3, np.int32(3), np.array(3), np.array([3]), [np.uint8(3)]):
        assert ragged.to_padded(0, length).tolist() == [[1, 2, 0], [3, 0, 0]]
    with pytest.raises(TypeError, match=r"length=2\.5: expected an integer"):
        ragged.to_padded(0, 2.5)
    with pytest.raises(ValueError, match="length=-1"):
        ragged.to_padded(0, -1)
