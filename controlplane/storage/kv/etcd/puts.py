"""Conditional puts, laid out as bytes.

Every write of an object is one transaction of one shape, in which nothing varies but a key, a value and a revision. By
protobuf's library that is ten messages, made, filled and encoded; what stands between the parts depends on nothing but
their lengths, and is looked up here.

Source: etcd's TxnRequest (``rpc.proto``); protobuf encoding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["ConditionalPut"]

LAYOUTS: Final = 2_048
"""About 300 bytes each. The keys of a kind have few lengths, its values some hundred."""

_KEY, _COMPARED_KEY, _VALUE = b"\x0a", b"\x10\x02\x1a", b"\x12"
"""Tags; of a comparison, with the target before it: the revision of the last modification."""

_COMPARE, _SUCCESS, _FAILURE, _RANGE, _PUT = b"\x0a", b"\x12", b"\x1a", b"\x0a", b"\x12"

_REVISION: Final = b"\x30"
_ABSENT: Final = _REVISION + b"\0"


class ConditionalPut(NamedTuple):
    """Put ``value`` if ``key`` was last modified at the revision ``expect`` (0: it is absent), else read the key."""

    key: bytes
    value: bytes
    expect: int

    def SerializeToString(self) -> bytes:  # noqa: N802  # as protobuf's messages have it
        """The encoded TxnRequest."""
        key, value, expect = self
        condition = _REVISION + _varint(expect) if expect else _ABSENT
        compare, put, with_value, otherwise = _layout(len(key), len(value), len(condition))
        return b"".join((compare, key, condition, put, key, with_value, value, otherwise, key))


@lru_cache(maxsize=LAYOUTS)
def _layout(key_bytes: int, value_bytes: int, condition_bytes: int) -> tuple[bytes, bytes, bytes, bytes]:
    """What stands before the compared key, the key that is put, its value, and the key that is read instead."""
    key = _varint(key_bytes)
    compared = _COMPARED_KEY + key
    compare = _COMPARE + _varint(len(compared) + key_bytes + condition_bytes) + compared
    value = _VALUE + _varint(value_bytes) if value_bytes else b""
    put_bytes = len(_KEY + key) + key_bytes + len(value) + value_bytes
    operation = _PUT + _varint(put_bytes)
    put = _SUCCESS + _varint(len(operation) + put_bytes) + operation + _KEY + key
    range_bytes = len(_KEY + key) + key_bytes
    operation = _RANGE + _varint(range_bytes)
    otherwise = _FAILURE + _varint(len(operation) + range_bytes) + operation + _KEY + key
    return compare, put, value, otherwise


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
