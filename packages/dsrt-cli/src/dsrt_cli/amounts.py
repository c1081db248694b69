"""What people write on the command line for amounts: `300MB/s`, `1GiB/s`, `0/4`."""

import re

import typer

__all__ = ["part", "rate"]

_UNITS: dict[str, int] = {"": 1, "b": 1} | {
    f"{letter}{infix}b": base**power
    for power, letter in enumerate("kmgt", 1)
    for infix, base in (("", 1000), ("i", 1024))
}
_RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([a-z]*)(?:/s)?", re.ASCII | re.IGNORECASE)
_PART = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


def rate(text: str) -> float:
    """Return bytes per second.

    Args:
        text: Such as ``"300MB/s"`` (powers of 1,000), ``"1GiB/s"`` (of 1,024) or a plain number of bytes;
            ``/s`` may be left out.

    Raises:
        typer.BadParameter: It is no such text, or not above zero.
    """
    found = _RATE.fullmatch(text)
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None or (amount := float(found[1]) * unit) <= 0:
        raise typer.BadParameter(
            f"{text!r:.80} is no rate above zero: write 300MB/s, 1GiB/s or a number of bytes a second",
            param_hint="--rate",
        )
    return amount


def part(text: str) -> tuple[int, int]:
    """Return which part of how many, as ``"K/N"`` has it.

    Raises:
        typer.BadParameter: It is no such text, or K is not 0 to N-1.
    """
    found = _PART.fullmatch(text)
    if found is None or (number := int(found[1])) >= (count := int(found[2])):
        raise typer.BadParameter(
            f"{text!r:.80} is no part: write K/N, with K from 0 to N-1, such as 0/4", param_hint="--part"
        )
    return number, count
