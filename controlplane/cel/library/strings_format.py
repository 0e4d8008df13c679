"""``"...".format([...])``: texts with values in them.

There are two: that of the strings library before version 4, which Kubernetes has, writes numbers for the locale en-US
(``1,234.500000``, ``1.5 x 10^3`` in superscripts); the later one writes them plainly.

Source: google/cel-go v0.26 ``ext/formatting.go`` and ``ext/formatting_v2.go``; golang.org/x/text ``message`` for the
locale.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Overload
from controlplane.cel.library.costs import rewritten, scanning
from controlplane.cel.library.go_text import go_quoted
from controlplane.cel.limits import check_characters, check_visits
from controlplane.cel.standard.conversions import format_double
from controlplane.cel.timestamps import format_duration, format_timestamp
from controlplane.cel.types import DYN, STRING, Type, list_of
from controlplane.cel.values import Duration, Timestamp, Value, type_of

__all__ = ["CLAUSE_RULES", "FORMAT", "FORMAT_PLAIN", "Clause", "clauses_of"]

_CLAUSE = re.compile(r"%(?:%|(\.[0-9]*)?(.?))", re.DOTALL)
_DEFAULT_PRECISION = 6
_MAX_PRECISION = 1000
"""Upstream bounds it from a later version on, at 100; no number has so many digits that say anything."""
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL = frozenset({"NaN", "Infinity", "-Infinity"})

Formatter = Callable[[Value], str]


class Clause:
    """One ``%`` in a format: its letter and precision (None: not given)."""

    __slots__ = ("letter", "precision")

    def __init__(self, letter: str, precision: int | None) -> None:
        self.letter = letter
        self.precision = precision


def clauses_of(text: str, supplied: int) -> Iterator[str | Clause]:
    """The literal parts and the clauses of a format for which ``supplied`` arguments are there, one by one.

    Raises:
        EvalError: a clause cannot be read, or there is no argument for it; whichever comes first.
    """
    used, end = 0, 0
    for found in _CLAUSE.finditer(text):
        yield text[end : found.start()]
        end = found.end()
        if found[0] == "%%":
            yield "%"
            continue
        if used >= supplied:
            raise EvalError(f"index {used} out of range")
        used += 1
        if found[0] == "%":
            raise EvalError("unexpected end of string")
        yield _clause(found[1], found[2])
    yield text[end:]


def _clause(precision: str | None, letter: str) -> Clause:
    failed = "could not parse formatting clause: "
    digits = precision[1:] if precision else None
    if digits is not None:
        failed_precision = f"{failed}error while parsing precision: "
        if not letter:
            raise EvalError(f"{failed_precision}could not find end of precision specifier")
        if not digits:
            raise EvalError(
                f'{failed_precision}error while converting precision to integer: strconv.Atoi: parsing "": '
                "invalid syntax"
            )
        if len(digits) > 18 or int(digits) > _MAX_PRECISION:
            raise EvalError(f"{failed_precision}precision {digits} exceeds maximum allowed precision {_MAX_PRECISION}")
    if letter not in "sdfebxXo":
        raise EvalError(f'{failed}unrecognized formatting clause "{letter}"')
    return Clause(letter, None if digits is None else int(digits))


def _formatted(text: str, arguments: list[Value], write: Callable[[Clause, Value], str]) -> str:
    pieces: list[str] = []
    remaining, length = iter(arguments), 0
    for part in clauses_of(text, len(arguments)):
        if isinstance(part, Clause):
            value = next(remaining)
            check_visits(value)
            try:
                part = write(part, value)
            except EvalError as error:
                raise EvalError(f"error during formatting: {error}") from None
        length += len(part)
        check_characters(length)
        pieces.append(part)
    return "".join(pieces)


def _type_name(value: Value) -> str:
    type_: Type = type_of(value)
    return type_.name


def _unfit(rule: str, value: Value) -> EvalError:
    return EvalError(f"{rule}, was given {_type_name(value)}")


_STRING_RULE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps"
)
CLAUSE_RULES: Mapping[str, str] = {
    "s": _STRING_RULE,
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""By letter: what is said of an argument that does not fit."""


def _is_number(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _localized(clause: Clause, value: Value) -> str:
    """One value, as versions before 4 write it."""
    match clause.letter:
        case "s":
            return _as_string(value)
        case "d":
            if not _is_number(value):
                raise _unfit(CLAUSE_RULES["d"], value)
            return str(int(value))
        case "f":
            return _fixed(_double(value, CLAUSE_RULES["f"]), clause.precision)
        case "e":
            return _scientific(_double(value, CLAUSE_RULES["e"]), clause.precision)
        case _:
            return _in_base(clause.letter, value, CLAUSE_RULES)


def _in_base(letter: str, value: Value, rules: Mapping[str, str]) -> str:
    kind = letter.lower()
    if isinstance(value, bool) and kind == "b":
        return "1" if value else "0"
    if _is_number(value):
        return format(int(value), letter)
    if kind == "x" and isinstance(value, str | bytes):
        digits = (value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")).hex()
        return digits if letter == "x" else digits.upper()
    raise _unfit(rules[kind], value)


def _double(value: Value, rule: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in _SPECIAL:
        return float(value)
    raise _unfit(rule, value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _fixed(value: float, precision: int | None) -> str:
    if not math.isfinite(value):
        return _not_finite(value)
    return f"{value:,.{_DEFAULT_PRECISION if precision is None else precision}f}"


def _scientific(value: float, precision: int | None) -> str:
    if not math.isfinite(value):
        return _not_finite(value)
    digits, _, exponent = f"{value:.{_DEFAULT_PRECISION if precision is None else precision}e}".partition("e")
    sign = "-" if exponent[0] == "-" else ""
    return f"{digits}\xd710{(sign + exponent[1:]).translate(_SUPERSCRIPTS)}"


def _as_string(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_item, value))}]"
    if isinstance(value, dict):
        return _as_map(value)
    return _scalar(value)


def _scalar(value: Value) -> str:
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return format_double(value)
        case bytes():
            return _decoded(value)
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case Type():
            return value.name
        case _:
            raise _unfit(_STRING_RULE, value)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvalError(
            'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
        ) from None


def _item(value: Value) -> str:
    """A value within a list or a map: as one would write it in an expression."""
    match value:
        case str():
            return go_quoted(value)
        case bytes():
            return "b" + go_quoted(_scalar(value))
        case float():
            return f"{value:.{_DEFAULT_PRECISION}f}" if math.isfinite(value) else go_quoted(_scalar(value))
        case Timestamp():
            return f"timestamp({go_quoted(_scalar(value))})"
        case Duration():
            return f"duration({go_quoted(_scalar(value))})"
        case list() | dict():
            return _as_string(value)
        case None | bool() | int() | Type():
            return _scalar(value)
        case _:
            raise EvalError(f"no formatting function for {_type_name(value)}")


def _as_map(value: dict[Value, Value]) -> str:
    entries: list[tuple[str, str]] = []
    for key, item in value.items():
        if not isinstance(key, str | bool | int):
            raise EvalError(f"no formatting function for map key of type {_type_name(key)}")
        entries.append((_item(key), _item(item)))
    return f"{{{', '.join(f'{key}:{item}' for key, item in sorted(entries, key=lambda entry: entry[0]))}}}"


def _plain(clause: Clause, value: Value) -> str:
    """One value, as versions from 4 on write it."""
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    match clause.letter:
        case "s":
            return _plain_string(value)
        case "d":
            if not _is_number(value) and not isinstance(value, float):
                raise _unfit("decimal clause can only be used on ints, uints, and doubles", value)
            return _plain_string(value)
        case "f":
            return _plain_double(value, f".{precision}f", "fixed-point")
        case "e":
            return _plain_double(value, f".{precision}e", "scientific")
        case _:
            return _in_base(clause.letter, value, _PLAIN_RULES)


_PLAIN_RULES = {
    "b": "only ints, uints, and bools can be formatted as binary",
    "x": "only ints, uints, bytes, and strings can be formatted as hex",
    "o": "octal clause can only be used on ints and uints",
}


def _plain_double(value: Value, form: str, clause: str) -> str:
    if not _is_number(value) and not isinstance(value, float):
        raise _unfit(f"{clause} clause can only be used on ints, uints, and doubles", value)
    number = float(value)
    return format(number, form) if math.isfinite(number) else _plain_special(number)


def _plain_special(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _plain_string(value: Value) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_plain_string, value))}]"
        case dict():
            entries = sorted((_plain_string(key), _plain_string(item)) for key, item in value.items())
            return f"{{{', '.join(f'{key}: {item}' for key, item in entries)}}}"
        case float():
            return _shortest(value) if math.isfinite(value) else _plain_special(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return _scalar(value)


def _shortest(value: float) -> str:
    """The fewest digits that mean this number, without exponent."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")


_ARGUMENTS = list_of(DYN)


def _format(text: str, arguments: list[Value]) -> str:
    return _formatted(text, arguments, _localized)


def _format_plain(text: str, arguments: list[Value]) -> str:
    return _formatted(text, arguments, _plain)


def _function(impl: Callable[..., str]) -> Function:
    return Function(
        "format",
        (
            Overload(
                "string_format",
                (STRING, _ARGUMENTS),
                STRING,
                impl,
                member=True,
                cost=rewritten(1),
                estimate=scanning(),
                by_result=True,
            ),
        ),
    )


FORMAT = _function(_format)
FORMAT_PLAIN = _function(_format_plain)
