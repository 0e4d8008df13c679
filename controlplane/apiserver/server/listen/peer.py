"""Who is at the other end of a connection: its address and its client certificate, read once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.client.request import Peer

__all__ = ["ConnectionPeer", "address_text"]


class ConnectionPeer:
    """The client certificate of one TLS connection, which the TLS library has verified already. See ``Peer``."""

    __slots__ = ("_der", "_read", "_transport", "lost", "user")

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.user = ""
        self.lost: Callable[[Peer], None] | None = None
        self._transport: asyncio.BaseTransport | None = transport
        self._der: bytes | None = None
        self._read = False

    def der(self) -> bytes | None:
        """The leaf in DER; None without TLS or without a certificate."""
        if not self._read:
            assert self._transport is not None
            tls = self._transport.get_extra_info("ssl_object")
            self._der = tls.getpeercert(binary_form=True) if tls is not None else None
            self._read, self._transport = True, None
        return self._der


def address_text(transport: asyncio.BaseTransport) -> str:
    """The peer's address without its port; ``""`` if it is gone already."""
    peername = transport.get_extra_info("peername")
    return str(peername[0]) if isinstance(peername, tuple) and peername else ""
