"""Conversions between types: ``int(x)``, ``string(x)``, ``timestamp(x)``, ``type(x)``, ``dyn(x)``.

Source: google/cel-go ``common/stdlib/standard.go``, ``common/types/*.go`` (ConvertToType).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Overload
from controlplane.cel.standard import costs
from controlplane.cel.timestamps import (
    format_duration,
    format_timestamp,
    parse_duration,
    parse_timestamp,
    timestamp_of_seconds,
)
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    param,
    type_of_type,
)
from controlplane.cel.values import UINT_MAX, Duration, Timestamp, UInt, Value, checked_int, checked_uint, type_of

__all__ = ["FUNCTIONS", "format_double"]

_INT_TEXT = re.compile(r"[+-]?[0-9]{1,400}")
_UINT_TEXT = re.compile(r"[0-9]{1,400}")
_FLOAT_TEXT = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,6})?")
_FLOAT_NAMES = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
_BOOL_TEXTS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _same(value: Value) -> Value:
    return value


def _refused(target: str) -> EvalError:
    return EvalError(f"type conversion error from 'string' to '{target}'")


def _bool_of_string(text: str) -> bool:
    value = _BOOL_TEXTS.get(text)
    if value is None:
        raise _refused("bool")
    return value


def _string_of_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def _float_of_string(text: str) -> float:
    if _FLOAT_TEXT.fullmatch(text):
        number = float(text)
        if not math.isinf(number):
            return number
    named = _FLOAT_NAMES.get(text.lstrip("+-").lower()) if len(text) < 10 else None
    if named is None or text[1:2] in ("+", "-"):
        raise _refused("double")
    return -named if text.startswith("-") else named


def _int_of_float(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise EvalError("integer overflow")
    return int(number)


def _uint_of_float(number: float) -> UInt:
    if math.isnan(number) or not 0 <= number < 2.0**64:
        raise EvalError("unsigned integer overflow")
    return UInt(number)


def _int_of_string(text: str) -> int:
    if not _INT_TEXT.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise _refused("int")
    return int(text)


def _uint_of_string(text: str) -> UInt:
    if not _UINT_TEXT.fullmatch(text) or int(text) > UINT_MAX:
        raise _refused("uint")
    return UInt(text)


def _duration_of_string(text: str) -> Duration:
    parsed = parse_duration(text)
    if parsed is None:
        raise _refused("google.protobuf.Duration")
    return parsed


def _timestamp_of_string(text: str) -> Timestamp:
    parsed = parse_timestamp(text)
    if parsed is None:
        raise _refused("google.protobuf.Timestamp")
    return parsed


def format_double(number: float) -> str:
    """As Go's ``%g``: the shortest digits that give the number back, an exponent below -4 and from 6 on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, figures, point = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(point, int)
    digits = "".join(map(str, figures))
    exponent = len(digits) - 1 + point if number else 0
    minus = "-" if sign else ""
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{minus}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point >= 0:
        return f"{minus}{digits}{'0' * point}" if number else f"{minus}0"
    digits = digits.rjust(1 - point, "0")
    return f"{minus}{digits[:point]}.{digits[point:]}"


def _conversion(target: str, result: Type, *sources: tuple[str, Type, Callable[[Value], Value]]) -> Function:
    return Function(
        target,
        tuple(Overload(overload, (given,), result, impl) for overload, given, impl in sources),
    )


_T = param("T")

FUNCTIONS: tuple[Function, ...] = (
    _conversion("bool", BOOL, ("bool_to_bool", BOOL, _same), ("string_to_bool", STRING, _bool_of_string)),
    Function(
        "bytes",
        (
            Overload("bytes_to_bytes", (BYTES,), BYTES, _same),
            Overload(
                "string_to_bytes",
                (STRING,),
                BYTES,
                lambda text: text.encode(),
                cost=costs.traversed,
                estimate=costs.string_to_bytes_estimate,
            ),
        ),
    ),
    _conversion(
        "double",
        DOUBLE,
        ("double_to_double", DOUBLE, float),
        ("int64_to_double", INT, float),
        ("string_to_double", STRING, _float_of_string),
        ("uint64_to_double", UINT, float),
    ),
    _conversion(
        "duration",
        DURATION,
        ("duration_to_duration", DURATION, _same),
        ("string_to_duration", STRING, _duration_of_string),
    ),
    Function("dyn", (Overload("to_dyn", (_T,), DYN, _same),)),
    _conversion(
        "int",
        INT,
        ("int64_to_int64", INT, _same),
        ("double_to_int64", DOUBLE, _int_of_float),
        ("duration_to_int64", DURATION, lambda span: span.ns),
        ("string_to_int64", STRING, _int_of_string),
        ("timestamp_to_int64", TIMESTAMP, lambda moment: moment.ns // 10**9),
        ("uint64_to_int64", UINT, lambda number: checked_int(int(number))),
    ),
    Function(
        "string",
        (
            Overload("string_to_string", (STRING,), STRING, _same),
            Overload("bool_to_string", (BOOL,), STRING, lambda value: "true" if value else "false"),
            Overload(
                "bytes_to_string",
                (BYTES,),
                STRING,
                _string_of_bytes,
                cost=costs.traversed,
                estimate=costs.bytes_to_string_estimate,
            ),
            Overload("double_to_string", (DOUBLE,), STRING, lambda number: format_double(float(number))),
            Overload("duration_to_string", (DURATION,), STRING, format_duration),
            Overload("int64_to_string", (INT,), STRING, str),
            Overload("timestamp_to_string", (TIMESTAMP,), STRING, format_timestamp),
            Overload("uint64_to_string", (UINT,), STRING, lambda number: str(int(number))),
        ),
    ),
    _conversion(
        "timestamp",
        TIMESTAMP,
        ("timestamp_to_timestamp", TIMESTAMP, _same),
        ("int64_to_timestamp", INT, timestamp_of_seconds),
        ("string_to_timestamp", STRING, _timestamp_of_string),
    ),
    Function("type", (Overload("type", (_T,), type_of_type(_T), type_of),)),
    _conversion(
        "uint",
        UINT,
        ("uint64_to_uint64", UINT, _same),
        ("double_to_uint64", DOUBLE, _uint_of_float),
        ("int64_to_uint64", INT, checked_uint),
        ("string_to_uint64", STRING, _uint_of_string),
    ),
)
