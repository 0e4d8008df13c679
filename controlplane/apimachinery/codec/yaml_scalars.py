"""What a scalar of YAML stands for, as Go's YAML package reads it: YAML 1.1 without base 60, with JSON's floats.

Source: go.yaml.in/yaml/v2 ``resolve.go``.
"""

from __future__ import annotations

import base64
import binascii
import re

__all__ = ["BadScalar", "go_scalar", "reads_as_text", "resolve", "resolve_key"]

_PREFIX = "tag:yaml.org,2002:"
_STRING = f"{_PREFIX}str"
_BINARY_TAG = f"{_PREFIX}binary"
_INT, _FLOAT, _BOOL, _NULL, _TIME, _MERGE = (
    _PREFIX + name for name in ("int", "float", "bool", "null", "timestamp", "merge")
)
_RESOLVED = frozenset({"", _STRING, _BOOL, _INT, _FLOAT, _NULL, _TIME})

Scalar = str | int | float | bool | None

_WORDS: dict[str, tuple[str, Scalar]] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], (_BOOL, True)),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], (_BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (_NULL, None)),
    **{word: (_FLOAT, float("nan")) for word in (".nan", ".NaN", ".NAN")},
    **{sign + word: (_FLOAT, float(sign + "inf")) for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    "<<": (_MERGE, "<<"),
}
_NUMERIC = frozenset("0123456789+-")
_DOTTED = re.compile(r"\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_FLOATS = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGERS = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|(0[0-7]*)|([1-9][0-9]*))",
)
_BASES = (16, 2, 8, 8, 10)
_CLOCK = r"[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?"
_TIMES = re.compile(
    rf"[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:[Tt]{_CLOCK}(?:Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_CLOCK})?",
)
_NO_BREAKS = {ord("\r"): None, ord("\n"): None}
_MOST_DIGITS = 64
"""Of an integer: longer ones are floats in any base that is written."""


class BadScalar(ValueError):
    """The scalar is not what its tag says."""


def resolve_key(text: str) -> Scalar:
    """The value of a plain scalar without a tag: floats stay floats."""
    return _meant(text, timed=False)[1]


def resolve(tag: str, text: str) -> Scalar:
    """The value, as JSON has it, of a scalar that is plain, or has a tag (in its long form; ``""``: none).

    Raises:
        BadScalar: with the words of the Go package.
    """
    if tag == _BINARY_TAG:
        try:
            return base64.b64decode(text.translate(_NO_BREAKS), validate=True).decode(errors="replace")
        except (binascii.Error, ValueError):
            raise BadScalar("!!binary value contains invalid base64 data") from None
    if tag == _STRING or tag not in _RESOLVED:
        return text
    found, value = _meant(text, timed=tag == _TIME)
    if tag in ("", found) or (tag == _FLOAT and found == _INT):
        return _plain_float(value) if isinstance(value, float) else value
    raise BadScalar(f"cannot decode {_short(found)} `{text}` as a {_short(tag)}")


def reads_as_text(text: str) -> bool:
    """Whether a text, written plainly, would be read as the same text."""
    found, _ = _meant(text, timed=True)
    return found == _STRING


def _meant(text: str, *, timed: bool) -> tuple[str, Scalar]:
    """The tag that a text has by itself, and its value; times are texts."""
    word = _WORDS.get(text)
    if word is not None:
        return word
    first = text[0]
    if first == ".":
        return _float(text) if _DOTTED.fullmatch(text) else (_STRING, text)
    if first not in _NUMERIC:
        return _STRING, text
    if timed and _TIMES.fullmatch(text):
        return _TIME, text
    plain = text.replace("_", "")
    integer = _INTEGERS.fullmatch(plain) if len(plain) <= _MOST_DIGITS + 3 else None
    if integer:
        digits = next(i for i in range(5) if integer[i + 2] is not None)
        value = int(integer[digits + 2], _BASES[digits])
        value = -value if integer[1] == "-" else value
        if -(2**63) <= value < (2**63 if integer[1] else 2**64):
            return _INT, value
    return _float(plain, text) if _FLOATS.fullmatch(plain) else (_STRING, text)


def _float(plain: str, text: str = "") -> tuple[str, Scalar]:
    value = float(plain)
    if value - value != 0:  # too large for a float
        return _STRING, text or plain
    return _FLOAT, value


def _plain_float(value: float) -> int | float:
    """A float as its JSON reads: without a fraction it is an integer, unless it is written with an exponent."""
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_PREFIX) if tag.startswith(_PREFIX) else tag


def go_scalar(value: Scalar) -> str:
    """A scalar as Go's ``%#v`` prints it."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "interface {}(nil)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    from controlplane.apimachinery.validation.field import go_quoted  # late: few texts are shown

    return go_quoted(text)
