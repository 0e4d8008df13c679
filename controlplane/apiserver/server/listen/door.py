"""How many connections there may be, in all and from one address.

A client beyond that is told so, 429 in answer to whatever it sends, and its connection is closed; so are the few that
wait for that, after a moment. While more come than can be told, they are closed at once: being refused must not cost
more than being served.

What counts as one address: an IPv4 address; of IPv6 the first 64 bits, since whoever has one has all of those.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable
from time import monotonic
from typing import cast

from controlplane.apiserver.server.metrics import CONNECTIONS, CONNECTIONS_REFUSED
from controlplane.base import logs

__all__ = ["Door", "Place", "Refusal"]

log = logs.get(__name__)

KEPT_FILES = 256
"""Files that the process needs for itself: the store, etcd, webhooks, logs."""

TOLD_AT_A_TIME = 64
TELL_SECONDS = 2.0
LOG_SECONDS = 60.0

_MAPPED = b"\0" * 10 + b"\xff\xff"
"""How IPv6 begins an IPv4 address."""


class Place:
    """A connection that is counted until it leaves. ``leave`` is idempotent."""

    __slots__ = ("_left",)

    def __init__(self, left: Callable[[], None]) -> None:
        self._left: Callable[[], None] | None = left

    def leave(self) -> None:
        left, self._left = self._left, None
        if left is not None:
            left()


class Door:
    """Counts connections. ``most`` and ``most_per_address``: 0 is no limit, but for the number of files that the
    process may open."""

    def __init__(self, *, most: int = 0, most_per_address: int = 0) -> None:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        possible = max(files - KEPT_FILES, files // 2) if files != resource.RLIM_INFINITY else 0
        self._most = min(most or possible, possible or most)
        self._most_per_address = most_per_address
        self._inside = 0
        self._by_address: dict[bytes, int] = {}
        self._refusals: set[Refusal] = set()
        self._logged_at = -LOG_SECONDS
        CONNECTIONS.read_from(lambda: self._inside)

    def enter(self, address: str) -> Place | None:
        """Count one more connection; None: there may be no more, which is counted and logged."""
        who = _who(address)
        of_address = self._by_address.get(who, 0)
        if self._most and self._inside >= self._most:
            self._refuse("total", address, self._most)
            return None
        if self._most_per_address and of_address >= self._most_per_address:
            self._refuse("address", address, self._most_per_address)
            return None
        self._inside += 1
        self._by_address[who] = of_address + 1
        return Place(lambda: self._left(who))

    def refusal(self) -> Refusal | None:
        """The protocol of a connection that is refused; None: too many are being told, close it."""
        if len(self._refusals) >= TOLD_AT_A_TIME:
            return None
        refusal = Refusal(self._refusals.discard)
        self._refusals.add(refusal)
        return refusal

    def close(self) -> None:
        """End the connections of those who are being told."""
        for refusal in list(self._refusals):
            refusal.abort()

    def _refuse(self, reason: str, address: str, most: int) -> None:
        CONNECTIONS_REFUSED.labels_cached((reason,)).inc()
        if monotonic() - self._logged_at >= LOG_SECONDS:
            self._logged_at = monotonic()
            flag = "--max-connections" if reason == "total" else "--max-connections-per-address"
            log.warning("connections are refused: there are too many", flag=flag, most=most, source=address)

    def _left(self, who: bytes) -> None:
        self._inside -= 1
        left = self._by_address[who] - 1
        if left:
            self._by_address[who] = left
        else:
            del self._by_address[who]


_TEXT = b"Too many connections, please try again later.\n"
_ANSWER = b"".join(
    (
        b"HTTP/1.1 429 Too Many Requests\r\n",
        b"Content-Type: text/plain; charset=utf-8\r\n",
        b"X-Content-Type-Options: nosniff\r\n",
        b"Retry-After: 1\r\n",
        b"Connection: close\r\n",
        b"Content-Length: %d\r\n\r\n" % len(_TEXT),
        _TEXT,
    )
)


class Refusal(asyncio.Protocol):
    """A connection whose first request is answered with 429; it ends then, or after a moment. ``ended`` hears of it,
    also by ``abort`` where there never was a connection."""

    def __init__(self, ended: Callable[[Refusal], None]) -> None:
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._until: asyncio.TimerHandle | None = None

    def itself(self) -> Refusal:
        """As a factory of protocols."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none of asyncio's classes
        self._until = asyncio.get_running_loop().call_later(TELL_SECONDS, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_ANSWER)
            self._transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._until is not None:
            self._until.cancel()
        self._ended(self)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        else:
            self._ended(self)


def _who(address: str) -> bytes:
    """What counts as one address."""
    if ":" not in address:
        return address.encode()
    packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    return packed[12:] if packed.startswith(_MAPPED) else packed[:8]
