"""gRPC messages in the bytes of a stream: each with a prefix of five bytes, several a frame or one over several.

Sans I/O. What is kept is what has arrived, whatever length a prefix claims.

Source: grpc doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message".
"""

from __future__ import annotations

from typing import Final

from controlplane.base.grpc.status import Code, RpcError

__all__ = ["MESSAGE_LIMIT_BYTES", "PREFIX_BYTES", "MessageReader", "prefixed"]

PREFIX_BYTES: Final = 5
MESSAGE_LIMIT_BYTES: Final = 1 << 30
"""No message may be longer: a page of 500 values of the largest size is 750 MB."""

_BETWEEN: Final = -1


class MessageReader:
    """Joins the data of one stream to messages."""

    __slots__ = ("_head", "_missing", "_parts")

    def __init__(self) -> None:
        self._head = b""
        self._parts: list[bytes] = []
        self._missing = _BETWEEN

    @property
    def complete(self) -> bool:
        """Whether nothing of an unfinished message waits here."""
        return self._missing == _BETWEEN and not self._head

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now.

        Raises:
            RpcError: a message is compressed, which was not offered, or too long.
        """
        if (
            self._missing == _BETWEEN
            and not self._head
            and data[:PREFIX_BYTES] == b"\0" + (len(data) - PREFIX_BYTES & 0xFFFFFFFF).to_bytes(4, "big")
        ):
            return [data[PREFIX_BYTES:]]  # the usual: one frame, one message
        if self._head:
            data, self._head = self._head + data, b""
        return self._cut(data)

    def _cut(self, data: bytes) -> list[bytes]:
        messages: list[bytes] = []
        at = 0
        while True:
            if self._missing == _BETWEEN:
                if len(data) - at < PREFIX_BYTES:
                    self._head = data[at:]
                    return messages
                self._missing = _length(data, at)
                at += PREFIX_BYTES
            part = data[at : at + self._missing]
            at += len(part)
            self._missing -= len(part)
            if self._missing:
                if part:
                    self._parts.append(part)
                return messages
            messages.append(b"".join((*self._parts, part)) if self._parts else part)
            self._parts, self._missing = [], _BETWEEN


def prefixed(message: bytes) -> bytes:
    """A message as it is sent."""
    return b"\x00" + len(message).to_bytes(4, "big") + message


def _length(data: bytes, at: int) -> int:
    if data[at]:
        raise RpcError(Code.INTERNAL, "the server sent a compressed message, which was not offered")
    length = int.from_bytes(data[at + 1 : at + PREFIX_BYTES], "big")
    if length > MESSAGE_LIMIT_BYTES:
        raise RpcError(Code.INTERNAL, f"a message of {length} bytes; at most {MESSAGE_LIMIT_BYTES} are taken")
    return length
