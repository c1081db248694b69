from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_map

from dsrt_native import RaggedArray as NumpyRagged
from dsrt_torch import RaggedArray, to_torch

shapes = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), max_size=5)


def packed(shapes: list[list[int]], ndim: int) -> NumpyRagged:
    """Return records of those shapes that hold 1, 2, 3, ..."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    values = np.arange(1, offsets[-1] + 1, dtype=np.int32)
    return NumpyRagged(values, offsets, np.array(shapes, np.int64).reshape(-1, ndim) if ndim > 1 else None)


@settings(max_examples=60, deadline=None)
@given(shapes=shapes, extra=st.none() | st.integers(0, 3), ndim=st.sampled_from([1, 2]))
def test_lengths_records_and_padding_equal_those_of_numpy(
    shapes: list[list[int]], extra: int | None, ndim: int
) -> None:
    array = packed([shape[:ndim] for shape in shapes], ndim)
    ragged = to_torch({"r": array})["r"]
    assert isinstance(ragged, RaggedArray)
    assert ragged.lengths().tolist() == array.lengths().tolist()
    assert [r.tolist() for r in ragged.to_list()] == [r.tolist() for r in array.to_list()]
    length = None if extra is None else [4 + extra] * ndim
    assert ragged.to_padded(-1, length).tolist() == array.to_padded(-1, length).tolist()


def test_records_view_the_values() -> None:
    ragged = RaggedArray(torch.zeros(3), torch.tensor([0, 1, 3]))
    ragged.to_list()[1][0] = 7
    assert ragged.values.tolist() == [0, 7, 0]


@pytest.mark.parametrize(
    "dtype", [torch.uint16, torch.uint32, torch.uint64, torch.bfloat16, torch.float8_e4m3fn, torch.complex128]
)
def test_any_dtype_is_padded(dtype: torch.dtype) -> None:
    ragged = RaggedArray(torch.tensor([1, 2, 3]).to(dtype), torch.tensor([0, 2, 2, 3]))
    padded = ragged.to_padded(5)
    assert padded.dtype == dtype
    assert padded.to(torch.complex128).tolist() == [[1, 2], [5, 5], [3, 5]]


def test_a_length_that_does_not_fit_is_refused() -> None:
    ragged = RaggedArray(torch.zeros(3), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"length 2: the longest record of the batch needs \(3,\)"):
        ragged.to_padded(0, 2)
    with pytest.raises(ValueError, match="is for 2 axes; these records have 1"):
        ragged.to_padded(0, [3, 3])


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [(torch.uint16, -100), (torch.uint16, 2**16), (torch.int8, 0.5), (torch.int64, float("nan"))],
)
def test_a_fill_that_the_dtype_cannot_hold_is_refused_and_never_wrapped_or_cut(
    dtype: torch.dtype, fill: float
) -> None:
    ragged = RaggedArray(torch.tensor([1, 2, 3]).to(dtype), torch.tensor([0, 2, 3]))
    with pytest.raises(ValueError, match=r"fill=.*fields=\{name: 'int64'\}"):
        ragged.to_padded(fill)
    wide = ragged._replace(values=ragged.values.to(torch.float64))
    assert repr(wide.to_padded(fill)[1, 1].item()) == repr(float(fill))


def test_a_length_is_an_integer_of_any_kind() -> None:
    ragged = RaggedArray(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 3]))
    lengths: list[Any] = [2, ragged.lengths().max(), np.int64(2), [np.int32(2)], torch.tensor([2])]
    for length in lengths:
        assert ragged.to_padded(-1, length).tolist() == [[1, 2], [3, -1]]
    with pytest.raises(TypeError, match=r"length=2\.5: expected an integer"):
        ragged.to_padded(0, 2.5)  # type: ignore[arg-type]  # refused


def test_it_is_a_pytree() -> None:
    ragged = RaggedArray(torch.zeros(3), torch.tensor([0, 3]), torch.tensor([[1, 3]]))
    one_more = tree_map(lambda tensor: tensor + 1, {"r": ragged})
    assert isinstance(one_more["r"], RaggedArray)
    assert one_more["r"].offsets.tolist() == [1, 4]
