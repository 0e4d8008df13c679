"""Certificates that are replaced while requests go on: a peer's serving certificate, and the one that servers show each
other. Nobody notices, and what was replaced is not used any more."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from controlplane.apiserver.filters.chain import Filter, insert_before
from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.base.tls import upkeep
from controlplane.base.tls.issue import issue_client, issue_serving, new_key
from controlplane.client.forward import transport
from controlplane.client.request import Handler, Request, Response
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane
from tests.aio import run
from tests.integration.peerproxy.fleet import Files, admin_tls, eventually, fleet, heard
from tests.integration.peerproxy.kinds import GADGETS, serve_b

LOADS = 3
GADGETS_PATH = f"/apis/{GADGETS.gv}/gadgets"
BETWEEN_SECONDS = 0.3
"""Between one file of a pair and the other: they are looked at several times meanwhile."""


class OwnServing:
    """A server with a serving certificate that can be replaced. ``shown``: the certificates by which its peers prove
    themselves, one for each request that they have sent on."""

    def __init__(self, files: Files) -> None:
        self._ca = (files.certs / "serving-ca.crt").read_bytes(), (files.certs / "serving-ca.key").read_bytes()
        self.cert, self.key = files.directory / "own.crt", files.directory / "own.key"
        self.shown: list[bytes | None] = []
        for file, content in self.made().items():
            file.write_bytes(content)

    def made(self) -> dict[Path, bytes]:
        """Another pair, to be written."""
        key = new_key()
        names = ("kubernetes.default.svc", "localhost", "127.0.0.1")
        return {self.cert: issue_serving(key, self._ca, names, time.time()), self.key: key}

    def __call__(self, config: Config) -> None:
        config.cert_file, config.key_file = str(self.cert), str(self.key)
        seen = Filter("seen", lambda following, _config: self._seen(following))
        config.filters = insert_before(config.filters, "max-in-flight", seen)

    def _seen(self, following: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            if FROM_PEER in request.values and request.info.is_resource and request.peer is not None:
                self.shown.append(request.peer.der())
            return await following(request)

        return handle


def new_client(files: Files) -> dict[Path, bytes]:
    """Another certificate by which servers prove themselves to each other, to be written."""
    key, authority = new_key(), (files.proxy_ca.read_bytes(), files.proxy_ca_key.read_bytes())
    return {
        files.proxy_cert: issue_client(key, authority, ("front-proxy-client", ()), time.time()),
        files.proxy_key: key,
    }


async def replace(pair: dict[Path, bytes]) -> None:
    """One file after the other, as most tools do."""
    for file, content in pair.items():
        await asyncio.to_thread(file.write_bytes, content)
        await asyncio.sleep(BETWEEN_SECONDS)


@asynccontextmanager
async def load(plane: Plane) -> AsyncIterator[list[int]]:
    """Requests on kept connections; yields the statuses of their answers so far. All must be 200."""
    statuses: list[int] = []
    tls = admin_tls(plane)

    async def ask(http: aiohttp.ClientSession) -> None:
        while True:
            async with http.get(plane.url + GADGETS_PATH, ssl=tls) as answer:
                await answer.read()
                statuses.append(answer.status)

    async with aiohttp.ClientSession() as http:
        asking = [asyncio.create_task(ask(http)) for _ in range(LOADS)]
        try:
            yield statuses
        finally:
            for one in asking:
                one.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
    assert set(statuses) == {200}


def der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode())


def served(plane: Plane) -> bytes:
    """The certificate that a new connection is shown, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", plane.running.port)) as raw, context.wrap_socket(raw) as connection:
        return connection.getpeercert(binary_form=True) or b""


def test_certificates_are_replaced_while_requests_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(upkeep, "LOOK_SECONDS", 0.05)

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes):
            a, own = planes["a"], OwnServing(made.files)
            b = await made.start("b", serve_b, own)
            await heard(a, 1)
            async with load(a) as statuses, asyncio.timeout(30):
                for _ in range(2):
                    await replace(serving := own.made())
                    assert await asyncio.to_thread(served, b) == der(serving[own.cert])
                    await replace(client := new_client(made.files))
                    expected = der(client[made.files.proxy_cert])

                    async def taken_up(expected: bytes = expected) -> bool:
                        return own.shown[-1] == expected

                    await eventually(taken_up)
                    since, before = len(own.shown) + LOADS, len(statuses)  # some may be under way

                    async def asked_on(before: int = before) -> bool:
                        return len(statuses) >= before + 50

                    await eventually(asked_on)
                    assert set(own.shown[since:]) == {expected}, "nobody goes on with the one before"

    run(main())
