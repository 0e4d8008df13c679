"""Durations as kube-apiserver's flags spell them: ``1m0s``, ``300ms``, ``1h30m``; seconds (float) inside.

Source: Go's time.ParseDuration and Duration.String.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

__all__ = ["Duration", "DurationMark", "format_duration", "parse_duration"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds of a duration text; ``0`` needs no unit.

    Raises:
        ValueError: not a duration.
    """
    sign, body = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if body == "0":
        return 0.0
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        raise ValueError("must be a duration such as 300ms, 10s or 1m30s")
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """The usual text of a duration: ``1h0m0s``, ``1m0s``, ``2.5s``, ``300ms``, ``0s``."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if 0 < seconds < 1:
        return f"{_short(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}h{minutes}m{_short(rest)}s"
    return f"{minutes}m{_short(rest)}s" if minutes else f"{_short(rest)}s"


def _short(number: float) -> str:
    return f"{round(number, 6):g}" if number < 1e6 else str(round(number))


class DurationMark:
    """Marks a float field as a duration, for help and docs."""


def _to_seconds(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(_to_seconds), DurationMark()]
"""A field of seconds that is written as a duration (in a file a bare number is seconds)."""
