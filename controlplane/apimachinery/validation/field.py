"""Field errors: what is wrong with one field, in the form and words that Kubernetes puts on the wire.

Source: the texts and cause reasons of kubernetes/apimachinery ``util/validation/field``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import orjson

__all__ = [
    "ENOUGH_ERRORS",
    "OMITTED",
    "FieldError",
    "InJSON",
    "duplicate",
    "forbidden",
    "go_json",
    "go_number",
    "go_quoted",
    "go_text",
    "go_value",
    "invalid",
    "not_found",
    "not_supported",
    "required",
    "too_long",
    "too_many",
    "type_invalid",
]

ENOUGH_ERRORS = 500
"""Checks of collections stop looking once they have found this many: a body of the largest size can be wrong in a
million places, and nobody reads a hundred megabytes about it."""

_PREFIX = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
OMITTED = object()
"""In place of a value that an error does not show: an object or a list that a rule refuses."""

_WITHOUT_VALUE = frozenset({"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"})


class InJSON(str):
    """Text that is shown as JSON writes it, not as Go quotes it: upstream has it behind a pointer."""

    __slots__ = ()


class FieldError(NamedTuple):
    """One problem: ``reason`` is the wire's cause reason, ``field`` its path, ``value`` what was given."""

    reason: str
    field: str
    value: Any = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the field path, as in a Status cause."""
        head = _PREFIX[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMITTED:
            head = f"{head}: {_quoted(self.value)}"
        return f"{head}: {self.detail}" if self.detail else head

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


_ESCAPES = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\", '"': '"'}


def _quoted(value: Any) -> str:
    """A value as upstream prints it: strings quoted as Go's %q, numbers and booleans plain, the rest as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return go_json(str(value)) if isinstance(value, InJSON) else go_quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return go_number(value)
    return _escaped(orjson.dumps(value).decode())


def go_json(value: Any) -> str:
    """A JSON value as Go writes one whose fields it does not know: keys in order, and HTML's characters escaped."""
    return _escaped(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def _escaped(text: str) -> str:
    return text.translate(_HTML) if _NEEDS_ESCAPES.search(text) else text


_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
"""Characters that Go's JSON encoder does not leave in strings."""
_NEEDS_ESCAPES = re.compile("[<>&\u2028\u2029]")


def go_number(value: float) -> str:
    """A number as Go prints it with %v: the shortest text; a float below 1e-4 or from 1e6 on has an exponent."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "-0" if str(value)[0] == "-" else "0"
    if 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    number = Decimal(repr(value))
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{'-' if value < 0 else ''}{mantissa}e{number.adjusted():+03d}"


def go_value(value: Any) -> str:
    """A JSON value as Go prints it with %v: text without quotes, lists in brackets, objects as maps."""
    match value:
        case None:
            return "<nil>"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return go_number(value)
        case list():
            return f"[{' '.join(map(go_value, value))}]"
    return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"


def go_text(value: Any) -> str:
    """A JSON value as Go prints it with %s, which is for text alone: of all else it names the type."""
    match value:
        case str():
            return value
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case None:
            return "%!s(<nil>)"
        case bool():
            kind = "bool"
        case int():
            kind = "int64"
        case _:
            kind = "float64"
    return f"%!s({kind}={go_value(value)})"


def go_quoted(text: str) -> str:
    """Text in double quotes, what cannot be printed escaped as Go's ``strconv.Quote`` does."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_go_escaped, text)) + '"'


def _go_escaped(char: str) -> str:
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def not_found(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, value)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    """``allowed`` is shown in its order, which is upstream's."""
    quoted = ", ".join(map(go_quoted, allowed))
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {quoted}" if allowed else "")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, "", detail)


def too_long(field: str, limit: int) -> FieldError:
    unit = "byte" if limit == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, "", f"may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    unit = "item" if limit == 1 else "items"
    return FieldError("FieldValueTooMany", field, actual, f"must have at most {limit} {unit}")
