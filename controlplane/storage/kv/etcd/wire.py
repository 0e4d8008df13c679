"""Large protobuf messages, cut so that each piece is decoded in a moment.

The encoding of a message is the concatenation of its fields, so what lies between two field boundaries is itself a
message of that type, with a part of the fields. A range of 100,000 objects or a watch that catches up is decoded piece
by piece, and the loop runs in between.

Source: protobuf encoding, "Last One Wins" and the concatenation of messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["PIECE_BYTES", "PIECE_FIELDS", "WHOLE_BYTES", "pieces"]

PIECE_BYTES: Final = 262_144
"""A piece ends with the field that reaches this size: parsing it takes about 0.2 ms."""

PIECE_FIELDS: Final = 400
"""And at this many fields: each becomes one value or event, at 2 to 4 µs."""

WHOLE_BYTES: Final = 16_384
"""Messages up to this size are not worth walking; they hold few hundred fields at most."""


def pieces(encoded: bytes) -> Iterator[bytes]:
    """Cut an encoded message at field boundaries; at least one piece, joined they are ``encoded``.

    Raises:
        ValueError: not a message.
    """
    size = len(encoded)
    if size <= WHOLE_BYTES:
        yield encoded
        return
    at = start = fields = 0
    while at < size:
        # The usual field is a message of up to 16 KiB with a one-byte tag: stepped over without a call.
        if size - at > 3 and encoded[at] & 0x87 == 2 and encoded[at + 2] < 0x80 <= encoded[at + 1]:
            at += 3 + (encoded[at + 1] & 0x7F | encoded[at + 2] << 7)
        else:
            at = _after_field(encoded, at)
        fields += 1
        if fields == PIECE_FIELDS or at - start >= PIECE_BYTES or at >= size:
            if at > size:
                raise ValueError(f"field ends at byte {at} of a message of {size} bytes")
            yield encoded[start:at]
            start, fields = at, 0


def _after_field(encoded: bytes, at: int) -> int:
    tag, at = _varint(encoded, at)
    match tag & 7:
        case 2:
            length, at = _varint(encoded, at)
            return at + length
        case 0:
            return _varint(encoded, at)[1]
        case 1:
            return at + 8
        case 5:
            return at + 4
        case kind:
            raise ValueError(f"wire type {kind} at byte {at} is not in use")


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(encoded):
            raise ValueError("message ends inside a number")
        byte = encoded[at]
        at += 1
        if byte < 0x80:
            return value | byte << shift, at
        value |= (byte & 0x7F) << shift
        shift += 7
