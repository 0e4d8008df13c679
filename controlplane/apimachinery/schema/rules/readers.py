"""How JSON values of a schema become values of expressions: texts of some formats are times, spans or bytes.

Source: kubernetes/apiserver ``pkg/cel/common/valuesunstructured.go`` (UnstructuredToVal).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.cel.errors import EvalError
from controlplane.cel.timestamps import parse_duration, parse_timestamp
from controlplane.cel.values import Duration, Timestamp

__all__ = ["reader"]

Read = Callable[[Any], Any]

_DAY_NS = 24 * 3600 * 10**9
_LONG_UNITS = re.compile(r"([0-9]+) *([a-z]+)")
_LONG_UNIT_NS = {
    "d": _DAY_NS, "day": _DAY_NS, "days": _DAY_NS, "w": 7 * _DAY_NS, "week": 7 * _DAY_NS, "weeks": 7 * _DAY_NS,
    "h": 3600 * 10**9, "hour": 3600 * 10**9, "hours": 3600 * 10**9, "m": 60 * 10**9, "min": 60 * 10**9,
    "minute": 60 * 10**9, "minutes": 60 * 10**9, "s": 10**9, "sec": 10**9, "second": 10**9, "seconds": 10**9,
    "ms": 10**6, "milli": 10**6, "us": 1000, "micro": 1000, "ns": 1, "nano": 1,
}  # fmt: skip


def reader(schema: Obj) -> Read | None:
    """What makes a value of JSON of this schema; None if it is one already."""
    if schema.get("x-kubernetes-int-or-string"):
        return None
    match schema.get("type"):
        case "number":
            return _nullable(schema, float)
        case "string":
            read = _FORMATS.get(schema.get("format") or "")
            return None if read is None else _nullable(schema, read)
        case "array":
            return _each(schema.get("items"))
        case "object":
            extra = schema.get("additionalProperties")
            inner = reader(extra) if isinstance(extra, dict) and not schema.get("properties") else None
            if inner is None:
                return None
            return lambda value: {key: inner(item) for key, item in value.items()} if type(value) is dict else value
        case _:
            return None


def _each(items: object) -> Read | None:
    inner = reader(items) if isinstance(items, dict) else None
    if inner is None:
        return None
    return lambda value: [inner(item) for item in value] if type(value) is list else value


def _nullable(schema: Obj, read: Read) -> Read:
    if not schema.get("nullable"):
        return read
    return lambda value: None if value is None else read(value)


def _duration(text: str) -> Duration:
    parsed = parse_duration(text)
    if parsed is not None:
        return parsed
    total, rest = 0, text.strip()
    while rest:
        part = _LONG_UNITS.match(rest)
        if part is None or part.group(2) not in _LONG_UNIT_NS or len(part.group(1)) > 18:
            raise EvalError(f"Invalid duration {text}: unable to parse {text} as duration")
        total += int(part.group(1)) * _LONG_UNIT_NS[part.group(2)]
        rest = rest[part.end() :].strip()
    return Duration(total)


def _date(text: str) -> Timestamp:
    parsed = parse_timestamp(f"{text}T00:00:00Z")
    if parsed is None:
        raise EvalError(f"Invalid date formatted string {text}")
    return parsed


def _date_time(text: str) -> Timestamp:
    parsed = parse_timestamp(text.upper().replace(" ", "T"))
    if parsed is None:
        raise EvalError(f"Invalid date-time formatted string {text}")
    return parsed


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvalError(f"Invalid byte formatted string {text[:64]}: {error}") from None


_FORMATS: dict[str, Read] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}
