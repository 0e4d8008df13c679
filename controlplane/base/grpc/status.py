"""How a call ends: gRPC's status codes, and what HTTP/2 says in their stead.

Source: grpc doc/statuscodes.md, doc/PROTOCOL-HTTP2.md ("HTTP2 Transport Mapping"), doc/http-grpc-status-mapping.md.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final
from urllib.parse import unquote

from controlplane.base.grpc.frames import ErrorCode

__all__ = ["Code", "RpcError", "from_http", "from_reset", "from_trailers"]


class Code(IntEnum):
    """gRPC status codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(Exception):
    """A call that did not end well.

    ``unsent``: the server has certainly not acted on it: it never left, or the server says that it was not looked at.
    """

    def __init__(self, code: Code, details: str, *, unsent: bool = False) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code, self.details, self.unsent = code, details, unsent

    def again(self) -> RpcError:
        """The same once more, for somebody else who is to raise it."""
        return RpcError(self.code, self.details, unsent=self.unsent)


_HTTP: Final = {
    "400": Code.INTERNAL,
    "401": Code.UNAUTHENTICATED,
    "403": Code.PERMISSION_DENIED,
    "404": Code.UNIMPLEMENTED,
    "429": Code.UNAVAILABLE,
    "502": Code.UNAVAILABLE,
    "503": Code.UNAVAILABLE,
    "504": Code.UNAVAILABLE,
}


def from_http(status: str) -> RpcError:
    """What an HTTP status other than 200 means; a proxy or another kind of server gave it."""
    return RpcError(_HTTP.get(status, Code.UNKNOWN), f"HTTP status {status or 'missing'} instead of a gRPC answer")


def from_reset(code: int) -> RpcError:
    """What it means that the server has reset the stream."""
    refused = code == ErrorCode.REFUSED_STREAM
    name = ErrorCode.name_of(code)
    return RpcError(
        Code.UNAVAILABLE if refused else Code.INTERNAL, f"stream reset by the server: {name}", unsent=refused
    )


def from_trailers(status: str, message: str) -> RpcError | None:
    """The error that a ``grpc-status`` (``""``: missing) and its percent-encoded message say; None for success."""
    if status == "0":
        return None
    if not status.isascii() or not status.isdigit():
        return RpcError(Code.INTERNAL, f"the server ended the call with grpc-status {status or 'missing'}")
    number = int(status) if len(status) < 4 else -1
    known = number in Code._value2member_map_
    return RpcError(Code(number) if known else Code.UNKNOWN, unquote(message, errors="replace"))
