"""A webhook for tests: real TLS on a free port, answering as the test says, and remembering what it was asked."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controlplane.apimachinery.identity import Obj
from tests.unit.base.tls.certs import Made, make

__all__ = ["Webhook", "running_webhook"]

Answer = Callable[[Obj], Awaitable[web.StreamResponse] | web.StreamResponse]


class Webhook:
    """``answer`` may be replaced while it runs; ``asked`` are the bodies that came, each with its ``heads``;
    ``headers`` of the newest; ``was_asked`` is set when one comes.
    ``ca``: who has signed its certificate."""

    def __init__(self, port: int, ca: Made, answer: Answer) -> None:
        self.port, self.ca, self.answer = port, ca, answer
        self.asked: list[Obj] = []
        self.heads: list[dict[str, str]] = []
        self.headers: dict[str, str] = {}
        self.queries: list[str] = []
        self.was_asked = asyncio.Event()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/convert"

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode(self.ca.pem).decode()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.headers = dict(request.headers)
        self.queries.append(request.query_string)
        body = await request.json()
        self.asked.append(body)
        self.heads.append(dict(request.headers))
        self.was_asked.set()
        answer = self.answer(body)
        return answer if isinstance(answer, web.StreamResponse) else await answer


@asynccontextmanager
async def running_webhook(
    directory: Path,
    answer: Answer,
    *,
    names: tuple[str, ...] = ("localhost",),
    common_name: str = "webhook",
    client_ca: Made | None = None,
) -> AsyncIterator[Webhook]:
    """Serve inside the block. ``names``: of its certificate, beside ``common_name``. ``client_ca``: whose certificates
    clients must show."""
    ca = make([(NameOID.COMMON_NAME, "webhook-ca")], is_ca=True)
    leaf = make([(NameOID.COMMON_NAME, common_name)], issuer=ca, names=names, usage=ExtendedKeyUsageOID.SERVER_AUTH)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*await asyncio.to_thread(leaf.write, directory, f"webhook-{id(leaf)}"))
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client_ca.pem.decode())
    webhook = Webhook(0, ca, answer)
    runner = web.ServerRunner(web.Server(webhook.handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    webhook.port = runner.addresses[0][1]
    try:
        yield webhook
    finally:
        await runner.cleanup()
