import numpy as np

from dsrt_cli.summary import in_words, plain, summary


def test_an_array_is_dtype_shape_range_and_first_values():
    array = np.arange(20, dtype=np.int16).reshape(4, 5)
    assert summary(array) == {"dtype": "int16", "shape": [4, 5], "min": 0, "max": 19, "first": list(range(8))}
    assert in_words(array) == "int16 (4, 5), 0 to 19: 0 1 2 3 4 5 6 7 …"


def test_a_float32_is_written_in_as_many_digits_as_it_has():
    assert in_words(np.array([0.1, -2.5], np.float32)) == "float32 (2), -2.5 to 0.1: 0.1 -2.5"


def test_nan_does_not_hide_the_range():
    found = summary(np.array([np.nan, 2.5, -1], np.float32))
    assert (found["min"], found["max"], found["first"]) == (-1.0, 2.5, ["nan", 2.5, -1.0])
    assert summary(np.array([np.nan]))["min"] == "nan"


def test_bools_complex_and_scalars_have_a_summary():
    assert summary(np.array([True, False]))["first"] == [True, False]
    assert summary(np.array([1 + 2j]))["first"] == ["(1+2j)"]
    assert summary(np.array(7, np.uint8)) == {"dtype": "uint8", "shape": [], "min": 7, "max": 7, "first": [7]}
    assert plain(np.int64(3)) == 3
    assert plain(float("-inf")) == "-inf"
    assert plain(np.datetime64("2024-01-01")) == "2024-01-01"


def test_bytes_are_a_length_and_the_first_in_hex():
    assert summary(b"\x00\xff") == {"bytes": 2, "first": "00ff"}
    assert in_words(bytes(2048)) == "2.0 KiB: " + " ".join(["00"] * 16) + " …"


def test_long_text_is_cut_and_says_so():
    assert in_words("a" * 2001) == "a" * 2000 + " … and 1 letters more"
    assert in_words("\x1b[2J") == r"\x1b[2J"
