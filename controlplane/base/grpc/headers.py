"""Header blocks: ours laid out once a method, the server's decoded once and remembered by their bytes.

We announce a dynamic table of size 0, so a block means the same whenever it comes, and most are one of two. Ours use
no dynamic table either: literals without indexing, which need no state.

Source: RFC 7541; grpc doc/PROTOCOL-HTTP2.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hpack import Decoder, HPACKError

from controlplane.base.grpc.frames import ErrorCode, ProtocolError

__all__ = ["MAX_BLOCK_BYTES", "Block", "HeaderDecoder", "request_block", "timeout_text"]

MAX_BLOCK_BYTES: Final = 65_536
"""Most bytes of one block, encoded or decoded."""

REMEMBERED: Final = 64
REMEMBERED_BYTES: Final = 256

_POST: Final = b"\x83"
_SCHEMES: Final = {"http": b"\x86", "https": b"\x87"}
_AUTHORITY, _PATH, _CONTENT_TYPE = 1, 4, 31
"""Indexes of names in the static table."""


class Block(NamedTuple):
    """What is read of a block; ``""`` is absent. ``grpc_message`` is percent-encoded."""

    status: str
    content_type: str
    grpc_status: str
    grpc_message: str


class HeaderDecoder:
    """Decodes the blocks of one connection."""

    __slots__ = ("_decoder", "_known")

    def __init__(self) -> None:
        self._decoder = Decoder(max_header_list_size=MAX_BLOCK_BYTES)
        self._decoder.max_allowed_table_size = 0
        self._decoder.header_table_size = 0
        self._known: dict[bytes, Block] = {}

    def decode(self, block: bytes) -> Block:
        """Read a whole block.

        Raises:
            ProtocolError: not a header block, too large, or one that refers to a dynamic table.
        """
        known = self._known.get(block)
        if known is not None:
            return known
        try:
            fields = {bytes(name): bytes(value) for name, value in self._decoder.decode(block, raw=True)}
        except (HPACKError, ValueError, IndexError) as error:
            raise ProtocolError(ErrorCode.COMPRESSION_ERROR, f"unreadable header block: {error}") from error
        names = (b":status", b"content-type", b"grpc-status", b"grpc-message")
        read = Block(*(fields.get(name, b"").decode("utf-8", "replace") for name in names))
        if len(block) <= REMEMBERED_BYTES and len(self._known) < REMEMBERED:
            self._known[block] = read
        return read


def request_block(
    scheme: str, authority: str, path: str, timeout: str, metadata: Sequence[tuple[str, str]] = ()
) -> bytes:
    """The header block of a call; ``timeout`` is ``timeout_text``'s, ``""`` for none."""
    block = [
        _POST,
        _SCHEMES[scheme],
        _named(_PATH, path),
        _named(_AUTHORITY, authority),
        _named(_CONTENT_TYPE, "application/grpc"),
        _literal("te", "trailers"),
    ]
    if timeout:
        block.append(_literal("grpc-timeout", timeout))
    block += [_literal(name, value) for name, value in metadata]
    return b"".join(block)


def timeout_text(seconds: float) -> str:
    """The value of ``grpc-timeout``: at most eight digits and a unit."""
    milliseconds = max(1, round(seconds * 1000))
    return f"{milliseconds}m" if milliseconds < 100_000_000 else f"{min(milliseconds // 1000, 99_999_999)}S"


def _named(index: int, value: str) -> bytes:
    return _integer(index, 4, 0) + _string(value)


def _literal(name: str, value: str) -> bytes:
    return b"\x00" + _string(name) + _string(value)


def _string(text: str) -> bytes:
    raw = text.encode()
    return _integer(len(raw), 7, 0) + raw


def _integer(value: int, bits: int, first: int) -> bytes:
    limit = (1 << bits) - 1
    if value < limit:
        return bytes((first | value,))
    out = [first | limit]
    value -= limit
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
