"""The client over the network: HTTPS with kept connections, client certificates and tokens.

aiohttp is imported when a client connects, so that programs without one do not pay for it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode, urlsplit

from controlplane.base.clock import Clock, SystemClock
from controlplane.client.api import JSON, ByteStream, QueryPairs
from controlplane.client.config import ClientConfig
from controlplane.client.errors import StreamBroken, Unreachable
from controlplane.client.metrics import RequestMetrics
from controlplane.client.request import Response
from controlplane.client.results import raise_for_status
from controlplane.client.retry import DEFAULT_RETRIES, send_with_retries
from controlplane.client.token import FileToken, TokenSource

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

__all__ = ["CONNECT_SECONDS", "REQUEST_SECONDS", "HTTPClient"]

CONNECT_SECONDS = 30.0
"""To make a connection, as client-go's dialer."""

REQUEST_SECONDS = 60.0
"""For a whole request that is not a stream: the time after which servers give up on it themselves."""

_KEEPALIVE_SECONDS = 30
"""A connection without traffic is probed this often, so that a dead watch is noticed, as client-go's dialer does."""

_IDLE_SECONDS = 90
"""An unused connection is kept this long, as Go's clients do; servers keep theirs longer."""

_PATH_SAFE = "/:@!$&'()*+,;=~"


class HTTPClient:
    """An ``APIClient`` for one server and identity. ``async with HTTPClient(config) as client``.

    ``token``: gives the bearer token of each request, instead of the config's.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        user_agent: str = "controlplane/client",
        clock: Clock | None = None,
        retries: int = DEFAULT_RETRIES,
        request_seconds: float = REQUEST_SECONDS,
        token: TokenSource | None = None,
    ) -> None:
        self._config, self._user_agent = config, user_agent
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._retries, self._request_seconds = retries, request_seconds
        self._metrics = RequestMetrics(urlsplit(config.server).netloc)
        self._token = token
        if token is None and config.token_file is not None:
            self._token = FileToken(config.token_file, self._clock)
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Make ready to send; connections are made as they are needed. Idempotent.

        Raises:
            KubeconfigError: certificates that cannot be used.
        """
        if self._session is not None:
            return
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        context = await asyncio.to_thread(self._config.ssl_context) if self._config.secure else True
        self._session = ClientSession(
            # no limit: each watch holds a connection of its own
            connector=TCPConnector(
                limit=0, keepalive_timeout=_IDLE_SECONDS, ssl=context, socket_factory=_probing_socket
            ),
            timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            headers=[("User-Agent", self._user_agent), *self._impersonation()],
            cookie_jar=DummyCookieJar(),
        )

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

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
        """Send one request and read the whole answer; see ``APIClient``."""
        sent_headers = await self._headers(headers, content_type if body else "")
        url = self._url(path, query)

        async def attempt() -> Response:
            async with asyncio.timeout(self._request_seconds):
                answer = await self._open(method, url, sent_headers, body)
                async with answer:
                    return _response(answer, await answer.read())

        return await self._send(attempt, method, url)

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, query: QueryPairs = (), headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[ByteStream]:
        """Open an answer that is read as it comes; see ``APIClient``."""
        sent_headers = await self._headers({"Accept-Encoding": "identity", **(headers or {})}, "")
        url = self._url(path, query)
        opened: list[ClientResponse] = []

        async def attempt() -> Response:
            async with asyncio.timeout(self._request_seconds):
                answer = await self._open(method, url, sent_headers, b"")
                if 200 <= answer.status < 300:
                    opened.append(answer)
                    return _response(answer, b"")
                async with answer:
                    return _response(answer, await answer.read())

        raise_for_status(await self._send(attempt, method, url), method)
        (answer,) = opened
        try:
            yield _Body(answer)
        finally:
            answer.close()  # the connection with it: what has not been read is not wanted

    async def _open(self, method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> ClientResponse:
        from yarl import URL

        if self._session is None:
            raise RuntimeError("the client is not connected")
        return await self._session.request(
            method,
            URL(url, encoded=True),
            headers=headers,
            data=body or None,
            allow_redirects=False,
            server_hostname=self._config.tls_server_name or None,
        )

    async def _send(self, attempt: Any, method: str, url: str) -> Response:
        """Send, with everything that can go wrong on the way as Unreachable."""
        from aiohttp import ClientConnectorError
        from aiohttp import ClientError as AiohttpError

        try:
            return await send_with_retries(
                attempt, method, clock=self._clock, retries=self._retries, metrics=self._metrics
            )
        except ClientConnectorError as e:
            raise Unreachable(f"{method} {url}: {e}", sent=False) from e
        except TimeoutError as e:
            raise Unreachable(f"{method} {url}: no answer within {self._request_seconds} s", sent=True) from e
        except (AiohttpError, OSError) as e:
            raise Unreachable(f"{method} {url}: {e!r}", sent=True) from e

    async def _headers(self, given: Mapping[str, str] | None, content_type: str) -> list[tuple[str, str]]:
        headers = {"Accept": JSON, **(given or {})}
        if content_type:
            headers.setdefault("Content-Type", content_type)
        token = await self._token.get() if self._token is not None else self._config.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return list(headers.items())

    def _impersonation(self) -> list[tuple[str, str]]:
        return self._config.impersonation.headers() if self._config.impersonation is not None else []

    def _url(self, path: str, query: QueryPairs) -> str:
        url = self._config.server + quote(path, safe=_PATH_SAFE)
        return f"{url}?{urlencode(query)}" if query else url


class _Body:
    """A ``ByteStream`` over an open answer."""

    __slots__ = ("_pieces",)

    def __init__(self, answer: ClientResponse) -> None:
        self._pieces = answer.content.iter_any()

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        from aiohttp import ClientError as AiohttpError

        try:
            return await self._pieces.__anext__()
        except (AiohttpError, OSError) as e:
            raise StreamBroken(f"the connection was lost: {e!r}") from e


def _response(answer: ClientResponse, body: bytes) -> Response:
    content_type = answer.headers.get("Content-Type", "")
    return Response(answer.status, body, content_type=content_type, headers=list(answer.headers.items()))


def _probing_socket(address: Any) -> socket.socket:
    """A socket whose peer is probed while nothing is said."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        option = getattr(socket, name, None)  # not on every system
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, _KEEPALIVE_SECONDS)
    return made
