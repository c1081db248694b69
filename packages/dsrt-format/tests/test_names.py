import pytest

from dsrt_format.columns import COLUMN_TYPES
from dsrt_format.names import cache_name_problem, column_name_problem, field_name_problem

DEVICES = ["con", "PRN", "Aux", "nul", "com0", "COM9", "lpt0", "Lpt9"]


@pytest.mark.parametrize("name", ["a", "0", "_x", "A-b_c", "x" * 63, "con1", "com10", "comx", "weights"])
def test_legal_cache_names(name):
    assert cache_name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["", "-a", "a.b", "a/b", "a b", "größe", "x" * 64, "a\n", "٣", "..", *DEVICES]
)
def test_illegal_cache_names(name):
    assert cache_name_problem(name) is not None
    assert field_name_problem(name) is not None


@pytest.mark.parametrize("name", ["_x", "cache_id", "sample_id", "weight"])
def test_names_that_caches_may_have_and_fields_may_not(name):
    assert cache_name_problem(name) is None
    assert field_name_problem(name) is not None


@pytest.mark.parametrize("name", ["Weight", "weights", "CACHE_ID", "x_"])
def test_reserved_names_are_compared_as_written(name):
    assert field_name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["weight", "größe", "a b", "a.b", "x" * 255, "ä" * 127, "con", "Image", "\n"]
)
def test_legal_column_names(name):
    assert column_name_problem(name, {"image"}) is None


@pytest.mark.parametrize(
    "name", ["", "_x", "cache_id", "sample_id", "image", "a\0b", "x" * 256, "ä" * 128, "\ud800"]
)
def test_illegal_column_names(name):
    assert column_name_problem(name, {"image"}) is not None


def test_column_types_are_spelt_as_documented():
    assert {"bool", "int8", "uint64", "float32", "string", "binary", "date"} < set(COLUMN_TYPES)
    assert {"timestamp[us]", "timestamp[ns, UTC]", "duration[ms]"} < set(COLUMN_TYPES)
    assert len(set(COLUMN_TYPES)) == len(COLUMN_TYPES) == 23
