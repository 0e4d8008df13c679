"""HTTP/2 frames: cut from a stream of bytes, however it was split, and laid out as bytes.

Sans I/O. Lengths are bounded: a frame over ``MAX_FRAME_BYTES`` is refused from its head, before it has arrived.

Source: RFC 9113, sections 4 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

__all__ = [
    "ACK",
    "CONTINUATION",
    "DATA",
    "END_HEADERS",
    "END_STREAM",
    "GOAWAY",
    "HEADERS",
    "HEAD_BYTES",
    "MAX_FRAME_BYTES",
    "PADDED",
    "PING",
    "PREFACE",
    "PRIORITY",
    "PRIORITY_GIVEN",
    "PUSH_PROMISE",
    "RST_STREAM",
    "SETTINGS",
    "WINDOW_UPDATE",
    "ErrorCode",
    "Frame",
    "FrameReader",
    "ProtocolError",
    "Setting",
    "body_of",
    "frame",
    "settings_payload",
]

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
"""Frame types; others are ignored, as the RFC demands."""

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY_GIVEN: Final = 0x20

HEAD_BYTES: Final = 9
MAX_FRAME_BYTES: Final = 16_384
"""The largest payload that we take (the protocol's own default: we announce no other)."""

_HEAD: Final = Struct(">HBBBL")
_UNPACK: Final = _HEAD.unpack_from
_SETTING: Final = Struct(">HL")


class ErrorCode(IntEnum):
    """Why a stream or connection ends (RFC 9113, section 7)."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13

    @classmethod
    def name_of(cls, code: int) -> str:
        """The name, or the number of a code that has none."""
        return cls(code).name if code in cls._value2member_map_ else f"error {code}"


class Setting(IntEnum):
    """Connection settings (RFC 9113, section 6.5.2)."""

    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class ProtocolError(Exception):
    """The peer broke the protocol, so that the whole connection must end; ``code`` is what it is told."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


_new = tuple.__new__
"""A third of the cost of calling a named tuple's class: four frames are made for each call."""


class Frame(NamedTuple):
    """One frame; ``payload`` still has its padding."""

    kind: int
    flags: int
    stream_id: int
    payload: bytes


class FrameReader:
    """Cuts frames from what has been received; keeps at most one incomplete frame.

    Args:
        known: told the bytes and where in them a frame begins; takes frames that it knows from there on, and returns
            where the next one begins that is to be cut.
    """

    __slots__ = ("_known", "_rest")

    def __init__(self, known: Callable[[bytes, int], int] | None = None) -> None:
        self._known = known
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now; to be exhausted before the next call.

        Raises:
            ProtocolError: a frame is longer than allowed; those before it have been given out.
        """
        if self._rest:
            data = self._rest + data
            self._rest = b""
        known = self._known
        at, end = 0, len(data)
        while end - at >= HEAD_BYTES:
            if known is not None:
                at = known(data, at)
                if end - at < HEAD_BYTES:
                    break
            high, low, kind, flags, stream_id = _UNPACK(data, at)
            length = high << 8 | low
            if length > MAX_FRAME_BYTES:
                raise ProtocolError(
                    ErrorCode.FRAME_SIZE_ERROR, f"a frame of {length} bytes; at most {MAX_FRAME_BYTES} are allowed"
                )
            start = at + HEAD_BYTES
            if start + length > end:
                break
            at = start + length
            yield _new(Frame, (kind, flags, stream_id & 0x7FFFFFFF, data[start:at]))
        self._rest = data[at:]


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """The bytes of one frame."""
    length = len(payload)
    return _HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream_id) + payload


def settings_payload(settings: dict[Setting, int]) -> bytes:
    """The payload of a SETTINGS frame."""
    return b"".join(_SETTING.pack(name, value) for name, value in settings.items())


def body_of(each: Frame) -> bytes:
    """The payload of a DATA or HEADERS frame without padding and priority.

    Raises:
        ProtocolError: more padding than payload.
    """
    payload, flags = each.payload, each.flags
    if not flags & (PADDED | PRIORITY_GIVEN):
        return payload
    start = pad = 0
    if flags & PADDED:
        pad, start = payload[0] if payload else 0, 1
    if each.kind == HEADERS and flags & PRIORITY_GIVEN:
        start += 5
    if start + pad > len(payload):
        raise ProtocolError(ErrorCode.PROTOCOL_ERROR, f"a frame of {len(payload)} bytes has {pad} bytes of padding")
    return payload[start : len(payload) - pad]
