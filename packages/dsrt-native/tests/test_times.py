"""Dates, timestamps and durations as integers: exact or refused."""

import datetime

import numpy as np
import pytest

from dsrt_format.columns import COLUMN_TYPES
from dsrt_native.times import clock

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))


def ticks(kind: str, value: object) -> int | None:
    found = clock(kind)
    assert found is not None
    return found.ticks(value)


def test_exactly_the_temporal_types_have_a_clock():
    temporal = [kind for kind in COLUMN_TYPES if clock(kind) is not None]
    assert temporal == [k for k in COLUMN_TYPES if k.startswith(("date", "timestamp", "duration"))]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("date", datetime.date(1970, 1, 1), 0),
        ("date", datetime.date(1969, 12, 31), -1),
        ("date", datetime.date(9999, 12, 31), 2_932_896),
        ("date", np.datetime64("1970-01-11", "ns"), 10),
        ("date", np.datetime64("1970-01-08", "W"), 7),
        ("timestamp[ms]", datetime.datetime(1970, 1, 1, 0, 0, 1, 5000), 1005),
        ("timestamp[us]", datetime.datetime(1, 1, 1), -62_135_596_800_000_000),
        ("timestamp[ns]", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), -1000),
        ("timestamp[ns]", np.datetime64(-1, "ns"), -1),
        ("timestamp[ms]", np.datetime64(3, "h"), 10_800_000),
        ("timestamp[ns]", np.datetime64(2**62, "ns"), 2**62),
        ("timestamp[us]", np.datetime64(5_000_000, "ps"), 5),
        ("timestamp[us]", np.datetime64(5, "10us"), 50),
        ("timestamp[us, UTC]", datetime.datetime(1970, 1, 2, tzinfo=UTC), 86_400_000_000),
        ("timestamp[us, UTC]", datetime.datetime(1970, 1, 1, 2, tzinfo=EAST), 0),
        ("timestamp[us, UTC]", np.datetime64("1970-01-02"), 86_400_000_000),
        ("duration[ms]", datetime.timedelta(days=-1, milliseconds=1), -86_399_999),
        ("duration[ns]", datetime.timedelta.max, 86_399_999_999_999_999_999_000),
        ("duration[us]", np.timedelta64(2, "W"), 1_209_600_000_000),
    ],
)
def test_values_become_units_exactly(kind, value, expected):
    assert ticks(kind, value) == expected


@pytest.mark.parametrize("kind", [k for k in COLUMN_TYPES if clock(k) is not None])
def test_none_and_not_a_time_are_null(kind):
    assert ticks(kind, None) is None
    not_a_time = np.timedelta64("NaT", "us") if kind.startswith("duration") else np.datetime64("NaT", "us")
    assert ticks(kind, not_a_time) is None


@pytest.mark.parametrize("kind", [k for k in COLUMN_TYPES if clock(k) is not None])
def test_a_datetime_that_is_not_equal_to_itself_is_null(kind):
    class NotATime(datetime.datetime):
        """As pandas' NaT, which is one object for times and durations."""

        def __ne__(self, other: object) -> bool:
            return True

    assert ticks(kind, NotATime(1970, 1, 1)) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", np.datetime64("1970-01-01T00:00:01")),
        ("timestamp[ms]", datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
        ("timestamp[us]", np.datetime64(1, "ns")),
        ("timestamp[ns]", np.datetime64(1, "as")),
        ("duration[ms]", np.timedelta64(1, "us")),
    ],
)
def test_what_is_finer_than_the_unit_is_refused(kind, value):
    with pytest.raises(ValueError, match="no whole number of units"):
        ticks(kind, value)


def test_more_than_the_type_says_is_not_dropped():
    class Finer(datetime.datetime):
        """As pandas' Timestamp, whose differences have nanoseconds."""

        def replace(self, **changes: object) -> "Finer":  # type: ignore[override]  # a stand-in
            return self

        def __sub__(self, other: object) -> "Longer":  # type: ignore[override]  # a stand-in
            return Longer(seconds=1)

    class Longer(datetime.timedelta):
        nanoseconds = 7

    assert ticks("timestamp[ns]", Finer(1970, 1, 1)) == 1_000_000_007
    with pytest.raises(ValueError, match="whole number"):
        ticks("timestamp[us]", Finer(1970, 1, 1))
    assert ticks("duration[ns]", Longer(0)) == 7
