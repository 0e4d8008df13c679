"""Durations as Go writes them (``1h2m3.5s``), and ages as ``kubectl get`` shows them (``5d3h``).

Source: the grammar and texts of Go's ``time.ParseDuration`` and ``Duration.String``; ages are those of
kubernetes/apimachinery ``util/duration.HumanDuration``.
"""

from __future__ import annotations

import re
from datetime import datetime

from controlplane.apimachinery.meta import parse_time

__all__ = ["format_duration", "human_age", "human_duration", "parse_duration"]

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro symbol
    "μs": 10**3,  # U+03BC, the Greek letter, is also read
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*(?:\.[0-9]*)?)([^.0-9]*)")
_LIMIT_NANOSECONDS = 2**63
"""Durations are 64-bit counts of nanoseconds: a little over 292 years."""

_LONGEST_TEXT = 256
"""Go has no bound; nobody writes a longer one."""

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600


def parse_duration(text: str) -> float:
    """Read a Go duration string.

    Returns:
        Seconds.

    Raises:
        ValueError: with Go's message.
    """
    at = 1 if text[:1] in {"+", "-"} else 0
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    if text[at:] == "0":
        return 0.0
    if at == len(text):
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    total = 0
    while at < len(text):
        part = _PART.match(text, at)
        assert part is not None  # it matches the empty text
        number, unit = part.groups()
        whole, _, fraction = number.partition(".")
        if not whole and not fraction:
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quoted(text)}")
        scale = _NANOSECONDS.get(unit)
        if scale is None:
            raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        whole, fraction = whole.lstrip("0"), fraction[:18]
        if len(whole) > 19:
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        total += int(whole or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        if total > _LIMIT_NANOSECONDS:
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        at = part.end()
    negative = text[0] == "-"
    if total == _LIMIT_NANOSECONDS and not negative:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return (-total if negative else total) / 10**9


def _quoted(text: str) -> str:
    """Go's quoting of what may not be printed: bytes above ASCII as escapes."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    shown = "".join(
        "\\" + c if c in {'"', "\\"} else c if " " <= c <= "~" else "".join(f"\\x{b:02x}" for b in c.encode())
        for c in text
    )
    return f'"{shown}"'


def format_duration(seconds: float) -> str:
    """Write a duration as Go does: ``1h0m0s``, ``1m30s``, ``1.5s``, ``250ms``, ``0s``. Rounded to nanoseconds."""
    nanoseconds = round(seconds * 10**9)
    sign = "-" if nanoseconds < 0 else ""
    nanoseconds = abs(nanoseconds)
    if nanoseconds == 0:
        return "0s"
    for unit, scale in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if nanoseconds < scale * 1000:
            return f"{sign}{_decimal(nanoseconds, scale)}{unit}"
    minutes, nanoseconds = divmod(nanoseconds, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(nanoseconds, 10**9)}s"


def _decimal(count: int, scale: int) -> str:
    whole, rest = divmod(count, scale)
    if not rest:
        return str(whole)
    digits = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}"


_LONGEST = 2**63 / 1e9
"""Go's durations end after 292 years."""


def human_duration(seconds: float) -> str:
    """A duration in two figures at most: ``8s``, ``2m5s``, ``8m``, ``5h20m``, ``2d3h``, ``2y43d``.

    A clock that is a second behind gives ``0s``, one further behind ``<invalid>``.
    """
    seconds = min(seconds, _LONGEST)
    if int(seconds) < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    total = int(seconds)
    minutes, hours, days, years = total // _MINUTE, total // _HOUR, total // _DAY, total // _YEAR
    if total < 2 * _MINUTE:
        return f"{total}s"
    if minutes < 10:
        return _two(minutes, "m", total % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if years < 8:
        return _two(years, "y", days % 365, "d")
    return f"{years}y"


def _two(first: int, unit: str, second: int, smaller: str) -> str:
    return f"{first}{unit}{second}{smaller}" if second else f"{first}{unit}"


def human_age(timestamp: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was, for the Age column; ``<unknown>`` if there is none, ``<invalid>`` if it is no
    time. ``now`` is aware."""
    if not timestamp:
        return "<unknown>"
    try:
        then = parse_time(timestamp)
    except ValueError:
        return "<invalid>"
    return human_duration((now - then).total_seconds())
