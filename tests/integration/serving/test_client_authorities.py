"""Client authorities that change while the server runs, and clients that connect and say nothing."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp

from controlplane.base.clock import SystemClock
from controlplane.base.tls.upkeep import LOOK_SECONDS
from tests.aio import run
from tests.integration.plane import config_in, running_plane
from tests.unit.base.tls import certs


class QuickLooks(SystemClock):
    """Looks at the files every 50 ms."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(0.05 if seconds == LOOK_SECONDS else seconds)


def test_an_authority_that_is_taken_away_ends_open_connections_of_its_clients_too(tmp_path: Path) -> None:
    admin = certs.client("root", "system:masters")
    authorities = tmp_path / "clients.crt"
    authorities.write_bytes(certs.ca().pem)
    config = config_in(tmp_path)
    config.client_ca_file, config.clock = str(authorities), QuickLooks()

    async def scenario() -> None:
        async with running_plane(tmp_path, config, own_clients=False) as plane:
            tls = ssl.create_default_context(cafile=str(config.cert_dir / "serving-ca.crt"))
            tls.load_cert_chain(*admin.write(tmp_path, "root"))
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=1)) as http:

                async def status() -> int:
                    async with http.get(plane.running.url + "/api/v1/namespaces") as answer:
                        await answer.read()
                        return answer.status

                assert await status() == 200
                authorities.write_bytes(certs.ca("another").pem)
                async with asyncio.timeout(10):
                    while (seen := await status()) == 200:
                        pass
                assert seen == 401

    run(scenario())


def test_a_certificate_that_expires_is_refused_on_the_connection_that_it_opened(tmp_path: Path) -> None:
    authorities = tmp_path / "clients.crt"
    authorities.write_bytes(certs.ca().pem)
    config = config_in(tmp_path)
    config.client_ca_file = str(authorities)

    async def scenario() -> None:
        async with running_plane(tmp_path, config, own_clients=False) as plane:
            tls = ssl.create_default_context(cafile=str(config.cert_dir / "serving-ca.crt"))
            shortly = certs.client("root", "system:masters", days=(-1, 2 / 86_400))
            tls.load_cert_chain(*shortly.write(tmp_path, "root"))
            url = plane.running.url.removeprefix("https://")
            host, _, port = url.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port), ssl=tls, server_hostname="localhost")

            async def status() -> int:
                writer.write(b"GET /api/v1/namespaces/default HTTP/1.1\r\nHost: x\r\n\r\n")
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
                await reader.readexactly(length)
                return int(head.split()[1])

            assert await status() == 200
            async with asyncio.timeout(10):
                while (seen := await status()) == 200:
                    pass
            assert seen == 401
            writer.close()

    run(scenario())


def test_silent_connections_do_not_keep_others_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            silent = [socket.create_connection(("127.0.0.1", plane.running.port)) for _ in range(400)]
            try:
                async with asyncio.timeout(4):  # each waited for as long as the first would make 8 s
                    status, _ = await plane.call("GET", "/livez", anonymous=True)
                assert status == 200
            finally:
                for connection in silent:
                    connection.close()

    run(scenario())
