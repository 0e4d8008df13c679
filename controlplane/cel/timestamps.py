"""Timestamps and durations: their texts, their ranges, and the calendar in a time zone.

Source: google/cel-go ``common/types/timestamp.go``, ``duration.go``, ``overflow.go``; Go's ``time.ParseDuration`` and
RFC 3339 layouts.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from controlplane.cel.errors import EvalError
from controlplane.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

__all__ = [
    "calendar",
    "duration",
    "format_duration",
    "format_timestamp",
    "parse_duration",
    "parse_timestamp",
    "timestamp",
    "timestamp_of_seconds",
]

_NS = 1_000_000_000
_MIN_SECONDS, _MAX_SECONDS = -62135596800, 253402300799
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"ns": 1, "us": 1000, "\u00b5s": 1000, "\u03bcs": 1000, "ms": 10**6, "s": _NS, "m": 60 * _NS, "h": 3600 * _NS}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_MAX_DIGITS = 30
_MAX_DURATION = 1000
"""Characters of a duration; Go reads longer ones, which nobody writes."""


def timestamp(ns: int, offset: int = 0) -> Timestamp:
    """The moment, if it is within years 1 to 9999. ``offset``: of its zone, in seconds.

    Raises:
        EvalError: timestamp overflow.
    """
    if _MIN_SECONDS <= ns // _NS <= _MAX_SECONDS:
        return Timestamp(ns, offset)
    raise EvalError("timestamp overflow")


def timestamp_of_seconds(seconds: int) -> Timestamp:
    """The moment so many seconds after 1970."""
    return timestamp(seconds * _NS)


def duration(ns: int) -> Duration:
    """The span, if it is within 64 bits.

    Raises:
        EvalError: duration overflow.
    """
    if INT_MIN <= ns <= INT_MAX:
        return Duration(ns)
    raise EvalError("duration overflow")


def parse_timestamp(text: str) -> Timestamp | None:
    """Of RFC 3339; None if it is not.

    Raises:
        EvalError: timestamp overflow.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    sign, zone_hour, zone_minute = found.group(8, 9, 10)
    offset = int(zone_hour) * 3600 + int(zone_minute) * 60 if sign else 0
    if sign and (int(zone_hour) > 24 or int(zone_minute) > 60):
        return None
    try:
        days = datetime(max(year, 1), month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    except ValueError:
        return None
    if year == 0:
        raise EvalError("timestamp overflow")
    offset = -offset if sign == "-" else offset
    seconds = days.days * 86400 + days.seconds - offset
    fraction = (found.group(7) or "")[:9].ljust(9, "0")
    return timestamp(seconds * _NS + int(fraction), offset)


def format_timestamp(moment: Timestamp) -> str:
    """In RFC 3339, in its own zone, with as many decimals as it needs."""
    fraction = moment.ns % _NS
    base = _own_calendar(moment)
    text = f"{base.year:04d}" + base.strftime("-%m-%dT%H:%M:%S")
    return text + (f".{fraction:09d}".rstrip("0") if fraction else "") + _zone_text(base)


def _zone_text(moment: datetime) -> str:
    minutes = (moment.utcoffset() or timedelta()) // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}" if minutes else "Z"


def parse_duration(text: str) -> Duration | None:
    """Of Go's form (``1h30m``, ``-1.5s``); None if it is not."""
    if len(text) > _MAX_DURATION:
        return None
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or not (part.group(1) or part.group(2)) or len(part.group(1)) > _MAX_DIGITS:
            return None
        unit = _UNITS[part.group(3)]
        fraction = (part.group(2) or "")[:_MAX_DIGITS]
        total += int(part.group(1) or "0") * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        position = part.end()
    total = -total if text.startswith("-") else total
    return Duration(total) if rest and INT_MIN <= total <= INT_MAX else None


def format_duration(span: Duration) -> str:
    """In seconds: ``1.5s``."""
    whole, fraction = divmod(abs(span.ns), _NS)
    decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{'-' if span.ns < 0 else ''}{whole}{decimals}s"


def calendar(moment: Timestamp, zone: str | None = None) -> datetime:
    """The moment's date and time of day in a zone: a name, or an offset as ``+01:00``; or in its own.

    Raises:
        EvalError: no such zone.
    """
    if zone is None:
        return _own_calendar(moment)
    try:
        return _utc(moment).astimezone(_zone(zone))
    except OverflowError:
        raise EvalError("timestamp overflow") from None


def _utc(moment: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=moment.ns // _NS)


def _own_calendar(moment: Timestamp) -> datetime:
    utc = _utc(moment)
    if not moment.offset:
        return utc
    try:
        return utc.astimezone(timezone(timedelta(seconds=moment.offset)))
    except (OverflowError, ValueError):  # beyond the years, or a day off: Python has no such
        return utc


@lru_cache(maxsize=256)
def _zone(zone: str) -> tzinfo:
    if not zone:
        return UTC
    hours, colon, minutes = zone.partition(":")
    if colon:
        try:
            number = int(hours) * 60
            number = number - int(minutes) if hours.startswith("-") else number + int(minutes)
            return timezone(timedelta(minutes=number))
        except ValueError as error:
            raise EvalError(f"invalid time zone {zone[:64]!r}: {error}"[:200]) from None
    if not re.fullmatch(r"[A-Za-z0-9_+\-/]{1,64}", zone) or zone.startswith(("/", ".")):
        raise EvalError(f"unknown time zone {zone[:64]}")
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvalError(f"unknown time zone {zone}") from None
