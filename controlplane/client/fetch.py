"""GET of small JSON documents from servers that are not API servers: token issuers.

TLS is verified by the given authorities, or the machine's; redirects are followed, as Go's client does; answers are
bounded in size and time. Proxies in the environment are not used. aiohttp is imported by the first call.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any

from controlplane.base.tls.authorities import trust_pem

if TYPE_CHECKING:
    from aiohttp import ClientSession

__all__ = ["FetchError", "Fetcher"]

TIMEOUT_SECONDS = 30.0
LIMIT_BYTES = 1 << 20


class FetchError(Exception):
    """No document: the message names the address and says why."""


class Fetcher:
    """``ca_pem``: the authorities of the servers' certificates; ``b""``: the machine's. Close it."""

    def __init__(self, ca_pem: bytes = b"") -> None:
        self._ca_pem = ca_pem
        self._session: ClientSession | None = None

    async def json(self, url: str) -> tuple[Any, bytes]:
        """The document, and its bytes.

        Raises:
            FetchError.
        """
        from aiohttp import ClientError

        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                session = await self._open()
                async with session.get(url) as answer:
                    body = await answer.content.read(LIMIT_BYTES + 1)
                    status = answer.status
        except (ClientError, OSError, TimeoutError, ValueError) as error:
            raise FetchError(f'Get "{url}": {str(error) or type(error).__name__}') from error
        if status != 200:
            raise FetchError(f'Get "{url}": status {status}')
        if len(body) > LIMIT_BYTES:
            raise FetchError(f'Get "{url}": the answer is over {LIMIT_BYTES} bytes')
        try:
            return json.loads(body), body
        except (ValueError, RecursionError) as error:
            raise FetchError(f'Get "{url}": not JSON: {error}') from error

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _open(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, DummyCookieJar, TCPConnector

            context = await asyncio.to_thread(_context, self._ca_pem)
            if self._session is None:  # somebody else may have been sooner
                self._session = ClientSession(
                    connector=TCPConnector(ssl=context, limit=10), cookie_jar=DummyCookieJar(), trust_env=False
                )
        return self._session


def _context(ca_pem: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if ca_pem else ssl.create_default_context()
    context.hostname_checks_common_name = False  # as Go: names are the alternative ones alone
    if ca_pem:
        trust_pem(context, ca_pem)
    return context
