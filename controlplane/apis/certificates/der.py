"""Why a request's DER cannot be read, as Go says it: the first part that is cut off, or is not what must be there.

Source: the behaviour of Go's ``encoding/asn1`` with ``crypto/x509``'s certificateRequest.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["der_problem"]

_PARAMETERS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)
_SEQUENCE, _INTEGER, _BITS, _ANY = 16, 2, 3, -1
_LONG_TAG = 0x1F
_LARGEST = 1 << 23


class _Part(NamedTuple):
    """``tag``: the universal one that is due. ``name``: of the Go type. ``parts``: what it consists of, if anybody
    asks."""

    tag: int
    name: str
    parts: tuple[_Part, ...] = ()


_ALGORITHM = _Part(_SEQUENCE, "AlgorithmIdentifier")
_REQUEST = _Part(
    _SEQUENCE,
    "certificateRequest",
    (
        _Part(
            _SEQUENCE,
            "tbsCertificateRequest",
            (
                _Part(_INTEGER, "int"),
                _Part(_ANY, "RawValue"),
                _Part(_SEQUENCE, "publicKeyInfo", (_ALGORITHM, _Part(_BITS, "BitString"))),
            ),
        ),
        _ALGORITHM,
        _Part(_BITS, "BitString"),
    ),
)


class _Bad(Exception):
    """What is wrong."""


def der_problem(der: bytes) -> str:
    """What is wrong with the structure of a request; ``""`` if its outer parts are right."""
    try:
        end = _read(der, 0, _REQUEST)
    except _Bad as error:
        return f"asn1: {error}"
    return "asn1: syntax error: trailing data" if end < len(der) else ""


def _read(data: bytes, start: int, part: _Part) -> int:
    """Where the part ends. Raises _Bad."""
    if start == len(data):
        raise _Bad("syntax error: sequence truncated")
    first = data[start]
    tag, at = first & _LONG_TAG, start + 1
    if tag == _LONG_TAG:
        tag, at = _long_tag(data, at)
    length, at = _length(data, at)
    compound = bool(first & 0x20)
    if part.tag != _ANY and (first >> 6 or tag != part.tag or compound != (part.tag == _SEQUENCE)):
        found = f"{{class:{first >> 6} tag:{tag} length:{length} isCompound:{str(compound).lower()}}}"
        due = f"tags don't match ({part.tag} vs {found})"
        raise _Bad(f"structure error: {due} {_PARAMETERS} {part.name} @{at}")
    if at + length > len(data):
        raise _Bad("syntax error: data truncated")
    inner, inside = data[at : at + length], 0
    for each in part.parts:
        inside = _read(inner, inside, each)
    return at + length


def _long_tag(data: bytes, at: int) -> tuple[int, int]:
    tag = 0
    for i in range(at, min(at + 5, len(data))):
        tag = tag << 7 | data[i] & 0x7F
        if not data[i] & 0x80:
            if tag < _LONG_TAG:
                raise _Bad("syntax error: non-minimal tag")
            return tag, i + 1
    raise _Bad(
        "syntax error: truncated base 128 integer"
        if len(data) < at + 5
        else "structure error: base 128 integer too large"
    )


def _length(data: bytes, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise _Bad("syntax error: truncated tag or length")
    first, at = data[at], at + 1
    if first < 0x80:
        return first, at
    if first == 0x80:
        raise _Bad("syntax error: indefinite length found (not DER)")
    length = 0
    for _ in range(first & 0x7F):
        if at >= len(data):
            raise _Bad("syntax error: truncated tag or length")
        if length >= _LARGEST:
            raise _Bad("structure error: length too large")
        length, at = length << 8 | data[at], at + 1
        if not length:
            raise _Bad("structure error: superfluous leading zeros in length")
    if length < 0x80:
        raise _Bad("structure error: non-minimal length")
    return length, at
