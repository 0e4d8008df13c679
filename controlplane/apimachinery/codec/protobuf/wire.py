"""Protobuf's wire: variable-length numbers, tags, lengths, and how a field that nobody knows is passed over.

All functions read one buffer between two indices and copy nothing, so that the work on a body is bounded by its length
times the depth of its messages. Errors are in the words of the code that gogo's generator writes, which clients see.

Source: protobuf.dev/programming-guides/encoding; ``skipGenerated`` in the ``generated.pb.go`` files of
kubernetes/apimachinery.
"""

from __future__ import annotations

__all__ = [
    "BYTES",
    "FIXED64",
    "VARINT",
    "MalformedProtobuf",
    "delimited",
    "read_length",
    "read_varint",
    "skip",
    "tag",
    "varint",
]

VARINT, FIXED64, BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)
"""Wire types."""
_MAX_VARINT_BYTES = 10
_SMALL = [bytes((number,)) for number in range(0x80)]


class MalformedProtobuf(ValueError):
    """The bytes are not such a message; the message says what is wrong."""


def varint(number: int) -> bytes:
    """A number of up to 64 bits; a negative one in two's complement, which takes ten bytes."""
    if 0 <= number < 0x80:
        return _SMALL[number]
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    """What stands before a field."""
    return varint(number << 3 | wire_type)


def delimited(data: bytes) -> bytes:
    """Bytes with their length before them."""
    size = len(data)
    return (_SMALL[size] if size < 0x80 else varint(size)) + data


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned number of 64 bits, and where it ends.

    Raises:
        MalformedProtobuf: cut off, or longer than ten bytes.
    """
    if at < end and data[at] < 0x80:
        return data[at], at + 1
    number = shift = 0
    for index in range(at, min(end, at + _MAX_VARINT_BYTES)):
        byte = data[index]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, index + 1
        shift += 7
    if end - at < _MAX_VARINT_BYTES:
        raise MalformedProtobuf("unexpected EOF")
    raise MalformedProtobuf("proto: integer overflow")


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where a length-delimited value begins and ends.

    Raises:
        MalformedProtobuf: it does not fit in.
    """
    size, at = read_varint(data, at, end)
    stop = at + size
    if stop >= 1 << 63:
        raise MalformedProtobuf("proto: negative length found during unmarshaling")
    if stop > end:
        raise MalformedProtobuf("unexpected EOF")
    return at, stop


def skip(data: bytes, at: int, end: int) -> int:
    """Pass over the field that begins at ``at``, groups (which nobody writes) included. Returns where it ends.

    Raises:
        MalformedProtobuf.
    """
    depth = 0
    while at < end:
        head, at = read_varint(data, at, end)
        match head & 7:
            case 0:
                _, at = read_varint(data, at, end)
            case 1:
                at += 8
            case 2:
                _, at = read_length(data, at, end)
            case 3:
                depth += 1
            case 4:
                if depth == 0:
                    raise MalformedProtobuf("proto: unexpected end of group")
                depth -= 1
            case 5:
                at += 4
            case wire_type:
                raise MalformedProtobuf(f"proto: illegal wireType {wire_type}")
        if depth == 0 and at <= end:
            return at
    raise MalformedProtobuf("unexpected EOF")
