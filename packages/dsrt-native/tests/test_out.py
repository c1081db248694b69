"""A batch in memory of the caller's: an array for each column, or a function that lends all of it."""

import ctypes
import mmap

import numpy as np
import pytest

from dsrt_format import DataError
from dsrt_native import Cache, Population

DENSE = [
    "image",
    "vector",
    "label",
    "pair",
    "flags",
    "nothing",
    "score",
    "good",
    "day",
    "taken",
    "seen",
    "length",
]
ROWS = [4, 0, 22, 7, 4]


@pytest.fixture
def population(path):
    return Cache.open(path).population


def like(array, offset=0):
    """An array of the same dtype and shape, full of other bits, so many bytes behind an aligned place."""
    memory = np.full(array.nbytes + 128, 0xAA, np.uint8)
    start = (-memory.ctypes.data) % 64 + offset
    return np.ndarray(array.shape, array.dtype, memory, start if array.nbytes else 0)


def lend(size, log=None):
    if log is not None:
        log.append(size)
    return memoryview(mmap.mmap(-1, max(size, 1)))[:size]


def test_the_batch_holds_the_very_arrays_wherever_they_lie(population, same):
    fields = [*DENSE, "_row", "cache_id"]
    expected = population.gather(ROWS, fields)
    for offset in (0, 1, 7, 40):
        out = {name: like(column, offset) for name, column in reversed(expected.items())}
        batch = population.gather(ROWS, fields, out=out)
        assert all(batch[name] is out[name] for name in fields)
        same(batch, expected)


def test_arrays_hold_widened_elements(population, same):
    fields = {"image": "float32", "score": "float64", "flags": "int64", "vector": None}
    expected = population.gather(ROWS, fields)
    same(population.gather(ROWS, fields, out={name: like(c, 3) for name, c in expected.items()}), expected)


def test_a_function_is_asked_once_and_its_memory_is_the_batch_s(population, same):
    expected, log, lent = population.gather(ROWS, [*DENSE, "tokens", "boxes", "caption", "split"]), [], []

    def out(size):
        lent.append(lend(size, log))
        return lent[0]

    batch = population.gather(ROWS, list(expected), out=out)
    same(batch, expected)
    assert len(log) == 1
    assert log[0] == len(lent[0])
    memory = np.frombuffer(lent[0], np.uint8)
    arrays = [
        *(batch[name] for name in DENSE if batch[name].size),
        batch["tokens"].values,
        batch["boxes"].shapes,
    ]
    assert all(np.shares_memory(array, memory) for array in arrays)
    assert population.gather([], ["label"], out=lend)["label"].shape == (0,)


def test_what_the_function_raises_comes_up_and_what_does_not_fit_is_refused(population):
    def full(size):
        raise LookupError(f"no {size} bytes")

    with pytest.raises(LookupError, match="no 40 bytes"):
        population.gather(ROWS, ["label"], out=full)
    unfit = [
        lambda size: memoryview(bytes(size)),
        lambda size: lend(size + 1),
        lambda size: lend(size + 8)[8:],
    ]
    for out in unfit:
        with pytest.raises(ValueError, match="expected 40 contiguous writable bytes, aligned to 64"):
            population.gather(ROWS, ["label"], out=out)
    for nothing in (None, "memory", np.zeros((9, 2))[:, 0]):
        with pytest.raises(TypeError, match=r"out\(40\) returned .*writable buffer of 40 bytes"):
            population.gather(ROWS, ["label"], out=lambda size, lent=nothing: lent)


def test_memory_is_memory_whatever_it_consists_of(population, same):
    expected = population.gather(ROWS, ["pair"])

    def aligned(size):
        memory = np.zeros(size + 64, np.uint8)
        return memory[-memory.ctypes.data % 64 :][:size]

    ways = [
        aligned,
        lambda size: aligned(size).view(np.float32),
        lambda size: aligned(size).view(np.complex128).reshape(2, -1),
        lambda size: (ctypes.c_double * (size // 8)).from_buffer(aligned(size)),
        lambda size: (ctypes.c_char * size).from_buffer(mmap.mmap(-1, size)),
    ]
    for out in ways:
        same(population.gather(ROWS, ["pair"], out=out), expected)


def test_nobody_is_asked_for_no_memory(population):
    for rows, fields in (([], ["label", "tokens"]), (ROWS, ["nothing"]), (ROWS, [])):
        batch = population.gather(rows, fields, out=lambda size: mmap.mmap(-1, size))
        assert list(batch) == fields


@pytest.fixture
def damaged(write_cache):
    """The first byte of vector 8 is another one; so no checksum holds."""
    path = write_cache()
    shard = path / "fields" / "vector" / "00001.shard"
    data = bytearray(shard.read_bytes())
    data[64 + 24] ^= 1
    shard.write_bytes(data)
    return Cache.open(path).population


def test_masked_records_are_zero_and_valid_says_so_with_or_without_an_array_for_it(damaged):
    rows = [7, 8, 9]
    for given in ({}, {"_valid": np.array([False] * 3)}):
        out = {"vector": np.full((3, 6), 7, np.float32)} | given
        batch = damaged.gather(rows, ["vector"], out=out, errors="mask")
        assert list(batch) == ["vector", "_valid"]
        assert batch["vector"] is out["vector"]
        assert batch["_valid"].tolist() == [True, False, True]
        assert not batch["vector"][1].any()
        assert batch["vector"][::2].any(axis=1).all()
        assert all(batch[name] is array for name, array in given.items())
    # Asked for, it is a column like the others.
    with pytest.raises(ValueError, match="no array for '_valid'"):
        damaged.gather(
            rows, ["vector", "_valid"], out={"vector": np.empty((3, 6), np.float32)}, errors="mask"
        )
    batch = damaged.gather(rows, ["vector"], out=lend, errors="mask")
    assert batch["_valid"].tolist() == [True, False, True]
    with pytest.raises(DataError, match=r"vector.*sample 8"):
        damaged.gather(rows, ["vector"], out={"vector": np.empty((3, 6), np.float32)})


def shaped(shape=(3, 6), dtype=np.float32):
    return np.zeros(shape, dtype)


def frozen():
    array = shaped()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("fields", "out", "error", "message"),
    [
        (["vector"], {"vector": shaped(dtype=np.float64)}, ValueError, "float64 of shape .*expected float32"),
        (["vector"], {"vector": shaped(dtype=">f4")}, ValueError, "expected float32"),
        ({"vector": "float64"}, {"vector": shaped()}, ValueError, "expected float64"),
        (
            ["vector"],
            {"vector": shaped((3, 7))},
            ValueError,
            r"shape \(3, 7\); expected float32 of shape \(3, 6\)",
        ),
        (["vector"], {"vector": shaped((18,))}, ValueError, r"expected float32 of shape \(3, 6\)"),
        (["vector"], {"vector": shaped((6, 3)).T}, ValueError, "C order"),
        (["vector"], {"vector": shaped((3, 12))[:, ::2]}, ValueError, "C order"),
        (["vector"], {"vector": frozen()}, ValueError, "writable"),
        (["vector"], {"vector": [[0.0] * 6] * 3}, TypeError, "expected a NumPy array, not list"),
        (["vector"], {"vector": np.ma.masked_array(shaped())}, TypeError, "masked array"),
        (["vector"], {}, ValueError, "no array for 'vector'"),
        (["vector"], {"vector": shaped(), "label": shaped()}, ValueError, "'label' is not asked for"),
        (["tokens"], {"tokens": shaped()}, ValueError, "give out= a function"),
        (["caption"], {"caption": shaped()}, ValueError, "give out= a function"),
        (["split"], {"split": shaped()}, ValueError, "give out= a function"),
        (["vector"], shaped(), TypeError, "dict of arrays, or a function"),
        (["nose"], {"nose": shaped()}, ValueError, 'there is no "nose"'),
    ],
)
def test_what_cannot_hold_a_column_is_refused_before_anything_is_read(damaged, fields, out, error, message):
    # Reading the rows would be a DataError, which is no ValueError of this message.
    with pytest.raises(error, match=message):
        damaged.gather([7, 8, 9], fields, out=out)


def test_arrays_that_share_memory_are_refused(population):
    memory = np.zeros(100, np.uint8)
    overlapping = {"label": memory[:40].view(np.int64), "good": memory[39:44].view(np.bool_)}
    with pytest.raises(ValueError, match="share memory"):
        population.gather(ROWS, ["label", "good"], out=overlapping)
    touching = {"label": memory[:40].view(np.int64), "good": memory[40:45].view(np.bool_)}
    population.gather(ROWS, ["label", "good"], out=touching)
    empty = np.empty((5, 2, 0))
    population.gather(ROWS, ["nothing", "label"], out={"nothing": empty, "label": touching["label"]})


def test_the_rows_may_lie_in_one_of_the_arrays(population, same):
    rows = np.array(ROWS)
    batch = population.gather(rows, ["label"], out={"label": rows})
    same(batch["label"], population.gather(ROWS, ["label"])["label"])


def test_rows_of_several_caches_and_extra_columns_fill_arrays(caches):
    population = Population(caches, rows=[14, 3, 0], columns={"e": np.arange(3, dtype=np.uint8)})
    out = {"x": np.empty(3, np.int64), "y": np.empty((3, 2), np.int64), "e": np.empty(3, np.float16)}
    batch = population.gather([0, 1, 2], {"x": None, "y": "int64", "e": "float16"}, out=out)
    assert batch["x"].tolist() == [104, 3, 0]
    assert batch["y"].tolist() == [[4, -4], [3, -3], [0, 0]]
    assert batch["e"].tolist() == [0.0, 1.0, 2.0]
