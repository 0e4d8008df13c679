"""The usual answer to a unary call: headers, one message and trailers in three frames on end, known by their bytes.

What is known is an answer that was read frame by frame before and was a success: one of the same layout, whose bytes
differ in nothing but the stream and the message, means the same. (We announce a header table of size 0, so a block of
headers means the same whenever it comes.) Anything else goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Any, Final, NamedTuple

from controlplane.base.grpc.frames import DATA, END_HEADERS, END_STREAM, HEAD_BYTES, HEADERS, frame
from controlplane.base.grpc.messages import PREFIX_BYTES, prefixed

__all__ = ["USUAL_BYTES", "UsualAnswer", "usual_answer"]

USUAL_BYTES: Final = 1_024
"""A longer message is worth the general way."""

LAYOUTS: Final = 64

_STREAM_AT: Final = HEAD_BYTES - 4


class UsualAnswer(NamedTuple):
    """One layout. ``cut`` gives the parts of what stands at a position: bytes before the first frame's stream, that
    stream, bytes up to the second frame's, that stream, the prefix of the message, the message, bytes before the third
    frame's stream, that stream, and the rest. It is such an answer if the streams are one, and the five parts beside
    them and the message are ``same``.

    ``size``: of all, in bytes; ``data_bytes``: of what flow control counts.
    """

    size: int
    data_bytes: int
    cut: Callable[[bytes, int], tuple[Any, ...]]
    same: tuple[bytes, bytes, bytes, bytes, bytes]


@lru_cache(maxsize=LAYOUTS)
def usual_answer(headers: bytes, message_bytes: int, trailers: bytes) -> UsualAnswer:
    """The layout of an answer with these blocks of headers and a message of this size."""
    first = frame(HEADERS, END_HEADERS, 0, headers)
    second = frame(DATA, 0, 0, prefixed(bytes(message_bytes)))
    third = frame(HEADERS, END_HEADERS | END_STREAM, 0, trailers)
    prefix_at, message_at = HEAD_BYTES, HEAD_BYTES + PREFIX_BYTES
    same = (
        first[:_STREAM_AT],
        headers + second[:_STREAM_AT],
        second[prefix_at:message_at],
        third[:_STREAM_AT],
        trailers,
    )
    sizes = [len(part) for part in same]
    layout = Struct(f">{sizes[0]}sL{sizes[1]}sL{sizes[2]}s{message_bytes}s{sizes[3]}sL{sizes[4]}s")
    return UsualAnswer(layout.size, PREFIX_BYTES + message_bytes, layout.unpack_from, same)
