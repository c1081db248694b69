import pytest
import typer

from dsrt_cli.amounts import part, rate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300MB/s", 300e6),
        ("300 MB/s", 300e6),
        ("300mb", 300e6),
        ("1GiB/s", 2**30),
        ("1.5GiB/s", 1.5 * 2**30),
        ("64kB/s", 64e3),
        ("64KiB", 65536),
        ("2TB/s", 2e12),
        ("1TiB", 2**40),
        ("4096", 4096),
        ("4096B/s", 4096),
        ("0.5", 0.5),
    ],
)
def test_a_rate_is_bytes_per_second(text, expected):
    assert rate(text) == expected


@pytest.mark.parametrize(
    "text", ["", "MB/s", "-1", "0", "0MB/s", "1e9", "inf", "nan", "300M", "3MB/min", "3 x", "٣MB", "1" * 400]
)
def test_what_is_no_rate_is_refused_with_what_one_looks_like(text):
    with pytest.raises(typer.BadParameter, match="write 300MB/s, 1GiB/s or a number of bytes a second"):
        rate(text)


def test_a_part_is_its_number_and_how_many_there_are():
    assert part("0/1") == (0, 1)
    assert part("3/4") == (3, 4)


@pytest.mark.parametrize(
    "text", ["", "1", "4/4", "0/0", "-1/4", "1/4/2", "a/b", "1 /4", "²/4", "1/" + "9" * 400]
)
def test_what_is_no_part_is_refused(text):
    with pytest.raises(typer.BadParameter, match="write K/N, with K from 0 to N-1"):
        part(text)
