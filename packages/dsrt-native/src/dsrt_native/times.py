"""Dates, timestamps and durations as the integers that metadata columns store. Exact, or refused."""

import datetime
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clock", "clock"]

_EPOCH = datetime.datetime(1970, 1, 1)
_NO_TIME = datetime.timedelta()
_SECOND = 10**18
# In attoseconds, NumPy's finest unit.
_UNITS = {
    "W": 604_800 * _SECOND,
    "D": 86_400 * _SECOND,
    "h": 3_600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}


class Clock(NamedTuple):
    """A temporal column type: ``date``, ``timestamp`` or ``duration``, its unit, and whether it is in UTC."""

    kind: str
    unit: str
    utc: bool

    def ticks(self, value: Any) -> int | None:
        """Return how many units a value is, for timestamps and dates since 1970-01-01T00:00.

        Args:
            value: For dates a `datetime.date` or `numpy.datetime64`; for timestamps without a zone a
                `datetime.datetime` without one or a `numpy.datetime64`; for timestamps in UTC a
                `datetime.datetime` with a zone, of which the instant is kept, or a `numpy.datetime64`, which
                is taken to be in UTC because it cannot say; for durations a `datetime.timedelta` or
                `numpy.timedelta64`. None and NaT are null.

        Raises:
            ValueError: The value is of another type, is finer than the unit, or has a zone where the column
                has none, or the other way round.
        """
        # Pandas' NaT calls itself a datetime, whatever column it is of, and is not equal to itself.
        if value is None or (isinstance(value, datetime.datetime) and value != value):
            return None
        if isinstance(value, np.datetime64 | np.timedelta64):
            if (isinstance(value, np.timedelta64)) != (self.kind == "duration"):
                raise self._wrong(value)
            return None if np.isnat(value) else self._counted(_attoseconds(value), value)
        if self.kind == "date":
            if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
                raise self._wrong(value)
            return value.toordinal() - _EPOCH.toordinal()
        if self.kind == "duration":
            if not isinstance(value, datetime.timedelta):
                raise self._wrong(value)
            return self._counted(_length(value), value)
        if not isinstance(value, datetime.datetime):
            raise self._wrong(value)
        offset = value.utcoffset()
        if self.utc and offset is None:
            raise ValueError(
                f"{value!r} has no zone; say which it is: .replace(tzinfo=datetime.timezone.utc)"
            )
        if not self.utc and offset is not None:
            raise ValueError(
                f"{value!r} has a zone and the column none; make it 'timestamp[{self.unit}, UTC]'"
            )
        since = value.replace(tzinfo=None) - _EPOCH
        return self._counted(_length(since) - _length(offset or _NO_TIME), value)

    def all_ticks(self, values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return how many units each of many values is, and which of them are null.

        Args:
            values: ``[n]`` of datetime64 or timedelta64, as for `ticks`.

        Raises:
            ValueError: As for `ticks`; the second argument of the error is the first place where it is so.
        """
        null = np.isnat(values)
        counts = values.view(np.int64)
        unit, step = np.datetime_data(values.dtype)
        ours = values.dtype.kind == ("m" if self.kind == "duration" else "M")
        fits = null & ours
        if ours and unit in _UNITS:
            times, parts = step * _UNITS[unit], _UNITS[self.unit]
            times, parts = times // (common := gcd(times, parts)), parts // common
            most = (2**63 - 1) // times
            # Of units as short as an attosecond a day has more than int64 holds: only 0 is whole then.
            whole = counts // parts if parts < 2**63 else np.zeros_like(counts)
            exact = counts == whole * parts if parts < 2**63 else counts == 0
            fits |= exact & (whole <= most) & (whole >= -most)
            counts = np.where(fits & ~null, whole, 0) * min(times, 2**63 - 1)
        if not fits.all():
            place = int(fits.argmin())
            try:
                self.ticks(values[place])
            except ValueError as error:
                raise ValueError(str(error), place) from None
            raise ValueError(f"{values[place]!r} is out of range", place)
        return counts, null

    def _counted(self, attoseconds: int, value: object) -> int:
        count, rest = divmod(attoseconds, _UNITS[self.unit])
        if rest:
            raise ValueError(f"{value!r} is no whole number of units of the column, which are {self.unit}")
        return count

    def _wrong(self, value: object) -> ValueError:
        wanted = {
            "date": "datetime.date or numpy.datetime64",
            "timestamp": "datetime.datetime or numpy.datetime64",
            "duration": "datetime.timedelta or numpy.timedelta64",
        }[self.kind]
        return ValueError(f"{value!r} is a {type(value).__name__}; the column takes {wanted}")


def clock(column_type: str) -> Clock | None:
    """Return what a column type such as ``"timestamp[us, UTC]"`` counts, or None if it is not temporal."""
    if column_type == "date":
        return Clock("date", "D", False)
    kind, bracket, rest = column_type.removesuffix("]").partition("[")
    if not bracket or kind not in ("timestamp", "duration"):
        return None
    unit, _, zone = rest.partition(", ")
    return Clock(kind, unit, zone == "UTC")


def _attoseconds(value: np.datetime64 | np.timedelta64) -> int:
    unit, step = np.datetime_data(value.dtype)
    if unit not in _UNITS:
        raise ValueError(f"{value!r}: years and months differ in length; use .astype with the unit 'D' first")
    return int(value.astype(np.int64)) * step * _UNITS[unit]


def _length(value: datetime.timedelta) -> int:
    seconds = value.days * 86_400 + value.seconds
    # Pandas' Timedelta is a timedelta with something more.
    nanoseconds = getattr(value, "nanoseconds", 0)
    return seconds * _SECOND + value.microseconds * _UNITS["us"] + nanoseconds * _UNITS["ns"]
