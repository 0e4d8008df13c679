"""One POST to a webhook: TLS by the bundle it gives, no redirects, a bound on time and on the answer's size.

Nothing that the caller was given goes along: no token, no cookie, no header of the request that led here; the server's
own credentials only where ``credentials`` names some for the host. Proxies in the environment are not used.

aiohttp is imported by the first call.

Source: kubernetes/apiserver ``pkg/util/webhook`` (client.go, authentication.go).
"""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from controlplane.base.tls.authorities import trust_pem
from controlplane.client.request import Response
from controlplane.client.results import error_of_response
from controlplane.client.webhook.address import WebhookAddress
from controlplane.client.webhook.ca_bundle import pem_bundle_error
from controlplane.client.webhook.certificates import outdated
from controlplane.client.webhook.errors import WebhookCallFailed, reason_of
from controlplane.client.webhook.resolver import DNS, Endpoint, ServiceResolver

if TYPE_CHECKING:
    from aiohttp import ClientConnectorCertificateError, ClientResponse, ClientSession

__all__ = ["DEFAULT_SECONDS", "Credentials", "WebhookTransport"]

DEFAULT_SECONDS = 30.0
"""For a call whose caller sets no time, as upstream."""
DEFAULT_LIMIT_BYTES = 3 << 20
"""The largest answer: as much as a client may send."""
CONTEXTS = 200
"""Trust that is kept ready, as many as upstream keeps clients. Open connections go with it."""
_IDLE_SECONDS = 90
_MAX_PORT = 65_535
_USER_AGENT = "kube-apiserver-admission"
"""What upstream calls itself towards every webhook; some of them look at it."""
_PATH_SAFE = "/:@!$&'()*+,;=~%"


class Credentials(NamedTuple):
    """What the server proves itself with to one host: a certificate's and its key's file, or a token; empty: not."""

    cert_file: str = ""
    key_file: str = ""
    token: str = ""


_NONE = Credentials()


class _Call(NamedTuple):
    """Where one request goes, and how. ``target``: path and query."""

    address: WebhookAddress
    endpoint: Endpoint
    target: str
    context: ssl.SSLContext
    token: str


class WebhookTransport:
    """Calls webhooks; one for a server. ``credentials``: what it has for a host and port (``name.ns.svc:443``)."""

    def __init__(
        self,
        *,
        resolver: ServiceResolver = DNS,
        credentials: Callable[[str], Credentials] = lambda _host_port: _NONE,
    ) -> None:
        self._resolver, self._credentials = resolver, credentials
        self._session: ClientSession | None = None
        self._contexts: OrderedDict[tuple[bytes, Credentials], ssl.SSLContext] = OrderedDict()

    async def post(
        self,
        address: WebhookAddress,
        body: bytes,
        *,
        timeout_seconds: float = DEFAULT_SECONDS,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        query: Sequence[tuple[str, str]] = (),
        credentials: Credentials | None = None,
    ) -> bytes:
        """Send JSON, and return the body of the answer. The webhook is told the time it has (``?timeout=30s``).
        ``credentials``: for this call, in place of those for the host.

        Raises:
            WebhookCallFailed: no answer in time, none that is a success, or one that is too large.
        """
        query = [*query, ("timeout", f"{timeout_seconds:g}s")]
        target = f"{quote(address.path, safe=_PATH_SAFE)}?{urlencode(query)}"
        url = f"https://{address.netloc}{target}"
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._post(address, target, url, body, limit_bytes, credentials=credentials)
        except TimeoutError as error:
            why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise WebhookCallFailed(f'Post "{url}": {why}') from error

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(
        self,
        address: WebhookAddress,
        target: str,
        url: str,
        body: bytes,
        limit_bytes: int,
        *,
        credentials: Credentials | None,
    ) -> bytes:
        from aiohttp import (
            ClientConnectorCertificateError,
            ClientConnectorError,
            ClientOSError,
            ServerDisconnectedError,
        )
        from aiohttp import ClientError as AiohttpError

        endpoint = Endpoint(address.host, address.port)
        try:
            credentials = self._credentials(address.host_port) if credentials is None else credentials
            context = await self._context(address.ca_bundle, credentials)
        except (OSError, ValueError) as error:
            raise WebhookCallFailed(str(error), uncallable=True) from error
        try:
            if address.service[1]:
                endpoint = await self._resolver.resolve(*address.service, address.port)
        except (OSError, ValueError, LookupError) as error:
            text = (
                error.args[0] if isinstance(error, LookupError) and error.args else error
            )  # a KeyError quotes its text
            raise WebhookCallFailed(f'Post "{url}": {text}') from error
        if endpoint.port > _MAX_PORT:
            raise WebhookCallFailed(f'Post "{url}": dial tcp: address {endpoint.port}: invalid port')
        call = _Call(address, endpoint, target, context, credentials.token)
        for again in (True, False):  # a kept connection may have been closed meanwhile: then once more, as Go does
            try:
                async with await self._open(call, body) as answer:
                    return await _read(answer, limit_bytes)
            except ClientConnectorCertificateError as error:
                raise WebhookCallFailed(f'Post "{url}": {await _refused(error, call)}') from error
            except ClientConnectorError as error:
                raise WebhookCallFailed(f'Post "{url}": {reason_of(error, endpoint.host, endpoint.port)}') from error
            except (ServerDisconnectedError, ClientOSError) as error:
                if not again:
                    raise WebhookCallFailed(f'Post "{url}": EOF') from error
            except (AiohttpError, OSError) as error:
                raise WebhookCallFailed(f'Post "{url}": {reason_of(error, endpoint.host, endpoint.port)}') from error
        raise AssertionError("unreachable")

    async def _open(self, call: _Call, body: bytes) -> ClientResponse:
        from yarl import URL

        if self._session is None:
            self._session = _new_session()
        host, port = call.endpoint
        host = f"[{host}]" if ":" in host else host
        headers = {"Host": call.address.netloc, "Content-Type": "application/json", "Accept": "application/json, */*"}
        if call.token:
            headers["Authorization"] = f"Bearer {call.token}"
        return await self._session.post(
            URL(f"https://{host}:{port}{call.target}", encoded=True),
            data=body,
            headers=headers,
            ssl=call.context,
            server_hostname=call.address.host,
            allow_redirects=False,
        )

    async def _context(self, bundle: bytes, credentials: Credentials) -> ssl.SSLContext:
        """Trust in a bundle; made in a thread and kept, so that connections can be used again.

        Raises:
            ValueError, OSError: the bundle or the credentials cannot be used.
        """
        key = (bundle, credentials)
        if key not in self._contexts:
            made = await asyncio.to_thread(_make_context, bundle, credentials)
            self._contexts.setdefault(key, made)  # somebody else may have been sooner
            if len(self._contexts) > CONTEXTS:
                self._contexts.popitem(last=False)
        self._contexts.move_to_end(key)
        return self._contexts[key]


async def _refused(error: ClientConnectorCertificateError, call: _Call) -> str:
    """Why the certificate that the webhook has shown is not believed."""
    host, port = call.endpoint
    inner = error.certificate_error
    if isinstance(inner, ssl.SSLCertVerificationError) and (
        text := await outdated(inner, host, port, call.address.host)
    ):
        return f"tls: failed to verify certificate: {text}"
    return reason_of(error, host, port)


def _new_session() -> ClientSession:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    return ClientSession(
        connector=TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
        timeout=ClientTimeout(total=None),
        headers={"User-Agent": _USER_AGENT},
        cookie_jar=DummyCookieJar(),
        trust_env=False,
    )


def _make_context(bundle: bytes, credentials: Credentials) -> ssl.SSLContext:
    if bundle:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            trust_pem(context, bundle)
        except ValueError as error:
            raise ValueError(pem_bundle_error(bundle) or f"unable to load root certificates: {error}") from error
    else:
        context = ssl.create_default_context()
    context.hostname_checks_common_name = False  # as Go: names are the alternative ones alone
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Go's pools: an intermediate is trusted by itself
    context.set_alpn_protocols(["http/1.1"])
    if credentials.cert_file:
        context.load_cert_chain(credentials.cert_file, credentials.key_file or None)
    return context


async def _read(answer: ClientResponse, limit_bytes: int) -> bytes:
    pieces: list[bytes] = []
    size_bytes = 0
    async for piece in answer.content.iter_any():
        pieces.append(piece)
        size_bytes += len(piece)
        if size_bytes > limit_bytes:
            answer.close()
            raise WebhookCallFailed(f"the webhook's answer is over the limit of {limit_bytes} bytes", answered=True)
    body = b"".join(pieces)
    if 200 <= answer.status < 300:
        return body
    if 300 <= answer.status < 400:
        raise WebhookCallFailed(f"the webhook answered with a redirect ({answer.status}), which is not followed")
    headers: Any = list(answer.headers.items())
    response = Response(answer.status, body, content_type=answer.headers.get("Content-Type", ""), headers=headers)
    raise WebhookCallFailed(error_of_response(response, "POST").message, answered=True)
