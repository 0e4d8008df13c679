"""Scalars with a form of their own: times and base64, in the words of Kubernetes' decoder.

Source: Go's ``time.Parse`` with RFC 3339 layouts, and ``encoding/base64``.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime, timedelta

__all__ = [
    "CANONICAL_MICRO_TIME",
    "CANONICAL_TIME",
    "is_canonical_base64",
    "normalize_base64",
    "normalize_micro_time",
    "normalize_time",
]

_SURELY = (
    r"[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
"""A date and time of day that there surely is; the 29th of February takes the long way."""
CANONICAL_TIME = re.compile(_SURELY + "Z")
CANONICAL_MICRO_TIME = re.compile(_SURELY + r"\.[0-9]{6}Z")
"""Times that are in canonical form: nothing to do."""
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_ELEMENTS = (
    (re.compile(r"[0-9]{4}"), "2006"),
    (re.compile(r"-"), "-"),
    (re.compile(r"[0-9]{2}"), "01"),
    (re.compile(r"-"), "-"),
    (re.compile(r"[0-9]{2}"), "02"),
    (re.compile(r"T"), "T"),
    (re.compile(r"[0-9]{2}"), "15"),
    (re.compile(r":"), ":"),
    (re.compile(r"[0-9]{2}"), "04"),
    (re.compile(r":"), ":"),
    (re.compile(r"[0-9]{2}"), "05"),
)
_ZONE = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")
_FRACTION = re.compile(r"[.,][0-9]+")
_MICROSECONDS = re.compile(r"\.[0-9]{6}")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


def is_canonical_base64(text: str) -> bool:
    """Whether a text surely is what ``normalize_base64`` returns."""
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


def normalize_time(text: str) -> str:
    """An RFC 3339 time in UTC and whole seconds.

    Raises:
        ValueError: it is none; the message is Go's.
    """
    if CANONICAL_TIME.fullmatch(text):
        return text
    return _parse(text, _TIME_LAYOUT).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def normalize_micro_time(text: str) -> str:
    """An RFC 3339 time in UTC with exactly six digits of a second. Raises as ``normalize_time``."""
    if CANONICAL_MICRO_TIME.fullmatch(text):
        return text
    return _parse(text, _MICRO_LAYOUT).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _parse(text: str, layout: str) -> datetime:
    rest, numbers = text, []
    for pattern, element in _ELEMENTS:
        found = pattern.match(rest)
        if found is None:
            raise _unparsed(text, layout, rest, element)
        if element.isdigit():
            numbers.append(int(found[0]))
        rest = rest[found.end() :]
    found = (_FRACTION if layout is _TIME_LAYOUT else _MICROSECONDS).match(rest)
    if layout is _MICRO_LAYOUT and found is None:
        raise _unparsed(text, layout, rest, ".000000")
    microsecond = int(found[0][1:7].ljust(6, "0")) if found else 0
    rest = rest[found.end() :] if found else rest
    zone = _ZONE.match(rest)
    if zone is None:
        raise _unparsed(text, layout, rest, "Z07:00")
    if rest[zone.end() :]:
        raise ValueError(f'parsing time "{text}": extra text: "{rest[zone.end() :]}"')
    return _datetime(text, numbers, microsecond, zone[0])


def _datetime(text: str, numbers: list[int], microsecond: int, zone: str) -> datetime:
    year, month, day, hour, minute, second = numbers
    for name, value, low, high in (
        ("month", month, 1, 12),
        ("hour", hour, 0, 23),
        ("minute", minute, 0, 59),
        ("second", second, 0, 59),
    ):
        if not low <= value <= high:
            raise ValueError(f'parsing time "{text}": {name} out of range')
    offset = timedelta()
    if zone != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
        if int(zone[1:3]) > 24 or int(zone[4:6]) >= 60:
            raise ValueError(
                f'parsing time "{text}": time zone offset {"hour" if int(zone[4:6]) < 60 else "minute"} out of range'
            )
        if zone[0] == "-":
            offset = -offset
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
        return local - offset
    except (ValueError, OverflowError):
        raise ValueError(f'parsing time "{text}": day out of range') from None


def _unparsed(text: str, layout: str, rest: str, element: str) -> ValueError:
    return ValueError(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"')


def normalize_base64(text: str) -> str:
    """Base64 in its canonical form: without line breaks.

    Raises:
        ValueError: it is none; the message is Go's, with the first byte that does not fit.
    """
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = _NOT_BASE64.search(text)
        at = found.start() if found else len(text) // 4 * 4
        raise ValueError(f"illegal base64 data at input byte {at}") from None
    return text
