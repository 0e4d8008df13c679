"""Formats of texts that both schemas and expressions know: dates, times, base64, UUIDs.

What is accepted is what Kubernetes' validator accepts, its oddities included.

Source: kubernetes/kube-openapi ``pkg/validation/strfmt``.
"""

from __future__ import annotations

import re
from datetime import date

__all__ = ["is_base64", "is_date", "is_date_time", "is_uuid"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")


def is_date(text: str) -> bool:
    """Whether it is a day of the calendar: ``2026-01-31``."""
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text if text[:4] != "0000" else "2000" + text[4:])
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Whether it is a date and a time with a zone."""
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not is_date(parts[0]):
        return False
    time = _TIME.fullmatch(parts[1])
    return time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def is_base64(text: str) -> bool:
    """Whether it is base64, padded; not empty."""
    return _BASE64.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """Whether it is a UUID, with or without dashes."""
    return _UUID.fullmatch(text) is not None
