"""Functions of timestamps and durations: ``t.getHours()``, ``t.getHours('Europe/Paris')``, ``d.getSeconds()``.

Source: google/cel-go ``common/stdlib/standard.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from controlplane.cel.functions import Function, Overload
from controlplane.cel.timestamps import calendar
from controlplane.cel.types import DURATION, INT, STRING, TIMESTAMP
from controlplane.cel.values import Duration, Timestamp

__all__ = ["FUNCTIONS"]

_PARTS: tuple[tuple[str, str, Callable[[datetime], int]], ...] = (
    ("getFullYear", "year", lambda day: day.year),
    ("getMonth", "month", lambda day: day.month - 1),
    ("getDayOfYear", "day_of_year", lambda day: day.timetuple().tm_yday - 1),
    ("getDayOfMonth", "day_of_month", lambda day: day.day - 1),
    ("getDate", "day_of_month_1_based", lambda day: day.day),
    ("getDayOfWeek", "day_of_week", lambda day: day.isoweekday() % 7),
    ("getHours", "hours", lambda day: day.hour),
    ("getMinutes", "minutes", lambda day: day.minute),
    ("getSeconds", "seconds", lambda day: day.second),
)
_UNITS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}


def _of_timestamp(name: str, part: str, read: Callable[[datetime], int]) -> Iterator[Overload]:
    del name

    def get(moment: Timestamp, zone: str | None = None) -> int:
        return read(calendar(moment, zone))

    yield Overload(f"timestamp_to_{part}", (TIMESTAMP,), INT, get, member=True)
    yield Overload(f"timestamp_to_{part}_with_tz", (TIMESTAMP, STRING), INT, get, member=True)


def _of_duration(name: str) -> Iterator[Overload]:
    unit = _UNITS.get(name)
    if unit is not None:

        def get(span: Duration) -> int:
            return abs(span.ns) // unit * (-1 if span.ns < 0 else 1)

        yield Overload(f"duration_to_{name.removeprefix('get').lower()}", (DURATION,), INT, get, member=True)


def _milliseconds(moment: Timestamp, zone: str | None = None) -> int:
    calendar(moment, zone)
    return moment.ns % 10**9 // 10**6


FUNCTIONS: tuple[Function, ...] = (
    *(Function(name, (*_of_timestamp(name, part, read), *_of_duration(name))) for name, part, read in _PARTS),
    Function(
        "getMilliseconds",
        (
            Overload("timestamp_to_milliseconds", (TIMESTAMP,), INT, _milliseconds, member=True),
            Overload("timestamp_to_milliseconds_with_tz", (TIMESTAMP, STRING), INT, _milliseconds, member=True),
            *_of_duration("getMilliseconds"),
        ),
    ),
)
