"""Read subject and dates from a client certificate in DER, without a library.

OpenSSL has parsed and verified the certificate in the handshake already; what is needed of it on our side are five
fields, and the library that gives them (``cryptography``) takes 50 ms and 8 MB to import, in one piece, on the loop of
a running server. So: a reader of DER's tag, length, value, for exactly those fields. It never trusts a length: whatever
is not as X.509 says is a ValueError.

Source: X.690 (DER), RFC 5280 section 4.1.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

__all__ = ["COMMON_NAME", "ORGANIZATION", "Certificate", "read_certificate"]

COMMON_NAME = "2.5.4.3"
ORGANIZATION = "2.5.4.10"

_INTEGER, _OID, _SEQUENCE, _SET, _VERSION = 0x02, 0x06, 0x30, 0x31, 0xA0
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_ENCODINGS = {0x0C: "utf-8", 0x12: "ascii", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
"""Tags of the string types, and how their bytes are text."""


class Certificate(NamedTuple):
    """Dates in seconds since 1970, both inclusive; ``subject`` in order: dotted OID and text (None: not a text)."""

    serial: int
    not_before: float
    not_after: float
    subject: tuple[tuple[str, str | None], ...]

    def values(self, oid: str) -> list[str | None]:
        """The subject's values of one attribute, in order."""
        return [value for name, value in self.subject if name == oid]


def read_certificate(der: bytes) -> Certificate:
    """Read one certificate.

    Raises:
        ValueError: not a certificate.
    """
    try:
        return _certificate(der)
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("not a certificate: cut short or garbled") from error


def _certificate(der: bytes) -> Certificate:
    whole, _ = _expect(der, 0, len(der), _SEQUENCE)
    (position, end), _ = _expect(der, *whole, _SEQUENCE)
    tag, _, after = _element(der, position, end)
    if tag == _VERSION:
        position = after
    serial, position = _expect(der, position, end, _INTEGER)
    _, position = _expect(der, position, end, _SEQUENCE)  # signature algorithm
    _, position = _expect(der, position, end, _SEQUENCE)  # issuer
    validity, position = _expect(der, position, end, _SEQUENCE)
    subject, _ = _expect(der, position, end, _SEQUENCE)
    not_before, next_time = _time(der, *validity)
    not_after, _ = _time(der, next_time, validity[1])
    return Certificate(
        serial=int.from_bytes(der[slice(*serial)], "big", signed=True),
        not_before=not_before,
        not_after=not_after,
        subject=tuple(_subject(der, *subject)),
    )


Span = tuple[int, int]
"""Start and end of a value in the whole."""


def _element(der: bytes, position: int, end: int) -> tuple[int, Span, int]:
    """Tag, span and following position of the element at a position."""
    if position + 2 > end:
        raise IndexError(position)
    tag, length = der[position], der[position + 1]
    start = position + 2
    if length & 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4 or start + size > end:
            raise ValueError("not a certificate: a length is not DER")
        length = int.from_bytes(der[start : start + size], "big")
        start += size
    if start + length > end:
        raise IndexError(position)
    return tag, (start, start + length), start + length


def _expect(der: bytes, position: int, end: int, tag: int) -> tuple[Span, int]:
    found, span, after = _element(der, position, end)
    if found != tag:
        raise ValueError(f"not a certificate: tag {found:#x} where {tag:#x} is due")
    return span, after


def _subject(der: bytes, position: int, end: int) -> list[tuple[str, str | None]]:
    attributes: list[tuple[str, str | None]] = []
    while position < end:
        (inner, inner_end), position = _expect(der, position, end, _SET)
        while inner < inner_end:
            pair, inner = _expect(der, inner, inner_end, _SEQUENCE)
            oid, value_at = _expect(der, *pair, _OID)
            tag, value, _ = _element(der, value_at, pair[1])
            encoding = _ENCODINGS.get(tag)
            text = der[slice(*value)].decode(encoding) if encoding else None
            attributes.append((_oid(der[slice(*oid)]), text))
    return attributes


def _oid(raw: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in raw:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _time(der: bytes, position: int, end: int) -> tuple[float, int]:
    tag, span, after = _element(der, position, end)
    text = der[slice(*span)].decode("ascii")
    if tag == _UTC_TIME:  # two digits of the year: 50 to 99 are the last century's
        text = ("19" if text >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("not a certificate: a date is not a time")
    if len(text) != 15 or not text.endswith("Z") or not text[:14].isdigit():
        raise ValueError(f"not a certificate: {text!r} is not a time")
    year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
    hour, minute, second = int(text[8:10]), int(text[10:12]), int(text[12:14])
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp(), after
