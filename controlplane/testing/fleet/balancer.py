"""A client behind a load balancer of a simple kind: each request goes to the next of the servers that are known to run,
over a real connection. It does not try again elsewhere: what a client sees in an upgrade is what this one sees.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from controlplane.client.api import JSON, ByteStream, QueryPairs
from controlplane.client.errors import Unreachable
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.request import Response

__all__ = ["Balancer"]


class Balancer:
    """An ``APIClient`` over several servers. ``retries``: as for ``HTTPClient``; by default none, so that everything is
    seen that asks for one."""

    def __init__(self, *, retries: int = 0) -> None:
        self._retries = retries
        self._clients: dict[str, HTTPClient] = {}
        self._out: list[HTTPClient] = []
        self._turn = 0

    async def add(self, name: str, kubeconfig: Path) -> None:
        """Send requests to this server too. One of this name that was there is replaced."""
        config = await asyncio.to_thread(load_kubeconfig, kubeconfig)
        client = HTTPClient(config, retries=self._retries)
        await client.connect()
        self.remove(name)
        self._clients[name] = client

    def remove(self, name: str) -> None:
        """Send it no new requests; those under way go on."""
        client = self._clients.pop(name, None)
        if client is not None:
            self._out.append(client)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: QueryPairs = (),
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Response:
        """See ``APIClient``."""
        return await self._next().request(
            method, path, query=query, body=body, headers=headers, content_type=content_type
        )

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, query: QueryPairs = (), headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[ByteStream]:
        """See ``APIClient``."""
        async with self._next().stream(method, path, query=query, headers=headers) as opened:
            yield opened

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        clients, self._clients, self._out = [*self._clients.values(), *self._out], {}, []
        for client in clients:
            await client.close()

    def _next(self) -> HTTPClient:
        if not self._clients:
            raise Unreachable("no server runs", sent=False)
        self._turn += 1
        names = list(self._clients)
        return self._clients[names[self._turn % len(names)]]
