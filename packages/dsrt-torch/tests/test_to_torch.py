import ml_dtypes
import numpy as np
import pytest
import torch

from dsrt_native import RaggedArray
from dsrt_torch import to_torch

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"),
    *("float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"),
]


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_of_the_format_is_taken_over_without_a_copy(name: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(getattr(ml_dtypes, name, name))
    tensor = to_torch({"x": array})["x"]
    assert tensor.dtype == getattr(torch, name)
    assert tensor.to(torch.complex128).tolist() == [[0, 1], [1, 0]]
    assert tensor.data_ptr() == array.ctypes.data


def test_bits_survive() -> None:
    bits = np.array([0x7FC1, 0xFF81, 0x8000], np.uint16)  # NaNs with a payload, -0.0
    tensor = to_torch({"x": bits.view(ml_dtypes.bfloat16)})["x"]
    assert tensor.view(torch.int16).tolist() == bits.view(np.int16).tolist()


def test_times_are_int64_in_their_unit() -> None:
    batch = to_torch(
        {
            "day": np.array(["1970-01-03", "NaT"], "M8[D]"),
            "at": np.array(["1970-01-01T00:00:01"], "M8[us]"),
            "took": np.array([5], "m8[ns]"),
        }
    )
    assert batch["day"].tolist() == [2, -(2**63)]
    assert batch["at"].tolist() == [1_000_000]
    assert batch["took"].tolist() == [5]


def test_seeds_come_as_the_same_bits() -> None:
    seed = np.array([2**64 - 1, 5], np.uint64)
    batch = to_torch({"_seed": seed, "x": seed})
    assert batch["_seed"].tolist() == [-1, 5]
    assert batch["_seed"].dtype == torch.int64
    assert batch["x"].dtype == torch.uint64


def test_views_that_torch_can_have_are_not_copied_and_others_are() -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    for view in (array.transpose(2, 0, 1), array[:, ::2], array[1:]):
        tensor = to_torch({"x": view})["x"]
        assert tensor.data_ptr() == view.ctypes.data
        assert tensor.tolist() == view.tolist()
    frozen = np.arange(3)
    frozen.flags.writeable = False
    packed = np.zeros(3, np.dtype([("a", "u1"), ("b", "<i4")]))["b"]
    for view in (
        array[::-1],
        frozen,
        packed,
        np.arange(3, dtype=">i4"),
        np.broadcast_to(array[0, 0, 0], (2, 2)),
    ):
        tensor = to_torch({"x": view})["x"]
        assert tensor.tolist() == view.tolist()
        tensor.zero_()
    assert frozen.tolist() == [0, 1, 2]
    assert array[0, 0].tolist() == [0, 1, 2, 3]


def test_scalars_empty_arrays_and_nested_dicts_are_converted_and_the_rest_stays() -> None:
    kept = torch.zeros(2)
    batch = to_torch(
        {"a": np.float32(2.5), "b": np.zeros((0, 3)), "c": {"d": np.arange(2)}, "e": ["x", None], "f": kept}
    )
    assert batch["a"].shape == ()
    assert batch["a"].item() == 2.5
    assert batch["b"].shape == (0, 3)
    assert batch["c"]["d"].tolist() == [0, 1]
    assert batch["e"] == ["x", None]
    assert batch["f"] is kept


def test_what_torch_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="names: torch has no dtype for NumPy's <U1"):
        to_torch({"names": np.array(["a"])})
    for masked in (np.ma.arange(2), np.ma.masked, RaggedArray(np.ma.arange(2), np.array([0, 2]))):
        with pytest.raises(TypeError, match="x: a masked array, whose mask would hide values"):
            to_torch({"x": masked})
    with pytest.raises(TypeError, match="a dict by name, not list"):
        to_torch([np.zeros(2)])
