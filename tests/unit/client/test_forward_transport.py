"""A kept connection that the other server closes just when a request is sent on it: what changes nothing is sent again,
and nothing else is, since it may have been acted on. A server that has gone is not waited for, nor asked again."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.base.tls.issue import issue_ca, issue_client, issue_serving, new_key
from controlplane.client.forward import transport as transport_module
from controlplane.client.forward.transport import ForwardTransport, Trust, Unanswered
from controlplane.client.webhook import Endpoint
from controlplane.testing.clock import FakeClock
from tests.aio import run

NAME = "kubernetes.default.svc"


class Server:
    """Answers the first request on each connection, takes the second, and closes. ``seen``: the requests' methods.
    ``hangs``: at the second it sets ``taken``, and does not close before ``released``."""

    hangs = False

    def __init__(self, directory: Path) -> None:
        ca_key, key = new_key(), new_key()
        ca = issue_ca(ca_key, "test-ca", time.time())
        cert, key_file = directory / "serving.crt", directory / "serving.key"
        cert.write_bytes(issue_serving(key, (ca, ca_key), (NAME,), time.time()))
        key_file.write_bytes(key)
        self.trust = Trust(server_name=NAME, ca_pem=ca)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(cert, key_file)
        self.seen: list[str] = []
        self.taken, self.released = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Endpoint]:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0, ssl=self._context)
        async with server:
            yield Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for is_first in (True, False):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            self.seen.append(head.split(b" ")[0].decode())
            if is_first:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            elif self.hangs:
                self.taken.set()
                await self.released.wait()
        writer.close()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_only_what_changes_nothing_is_sent_twice(method: str, tmp_path: Path) -> None:
    async def main() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        async with server.listening() as endpoint:

            async def ask(method: str) -> bytes:
                answer = await transport.send(server.trust, endpoint, method, "/", lines=b"")
                async with answer:
                    return await answer.read()

            assert await ask("GET") == b"ok"
            if method == "GET":
                assert await ask(method) == b"ok"
                assert server.seen == ["GET"] * 3
            else:
                with pytest.raises(Unanswered) as lost:
                    await ask(method)
                assert lost.value.was_sent
                assert server.seen == ["GET", method]
            await transport.close()

    run(main())


def test_what_finds_nobody_was_not_sent(tmp_path: Path) -> None:
    async def main() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        async with server.listening() as endpoint:
            pass
        with pytest.raises(Unanswered) as lost:
            await transport.send(server.trust, endpoint, "POST", "/", lines=b"")
        assert not lost.value.was_sent
        await transport.close()

    run(main())


def test_nothing_is_left_of_a_connection_that_could_not_be_made(tmp_path: Path) -> None:
    async def main() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        stranger = server.trust._replace(ca_pem=issue_ca(new_key(), "stranger", time.time()))
        async with server.listening() as endpoint:
            pool = await transport.pool(stranger, endpoint)
            with pytest.raises(Unanswered, match="unknown authority"):
                await transport.exchange(stranger, endpoint, "GET", b"GET / HTTP/1.1\r\n\r\n", pool)
            assert pool.is_empty
        await transport.close()

    run(main())


@pytest.mark.parametrize("forgotten", [False, True], ids=["current", "before other files"])
def test_who_has_gone_is_not_waited_for(tmp_path: Path, *, forgotten: bool) -> None:
    """Not where another way to it has been taken up meanwhile, either."""

    async def main() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        server.hangs = True
        async with server.listening() as endpoint:

            async def ask() -> bytes:
                async with await transport.send(server.trust, endpoint, "GET", "/", lines=b"") as answer:
                    return await answer.read()

            assert await ask() == b"ok"
            asking = asyncio.create_task(ask())
            await server.taken.wait()
            if forgotten:
                transport.forget(frozenset())
            transport.leave(endpoint, "gone")
            async with asyncio.timeout(2):
                with pytest.raises(Unanswered, match=r"^gone$") as lost:
                    await asking
            assert lost.value.was_sent
            assert server.seen == ["GET", "GET"]
            assert await ask() == b"ok", "one that is back is another"
            server.released.set()
        await transport.close()

    run(main())


def test_what_is_sent_again_goes_the_way_that_is_current(tmp_path: Path) -> None:
    """A connection that was made before the certificate was replaced breaks off, and nothing is made anew as before."""

    async def main() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        server.hangs = True
        async with server.listening() as endpoint:
            before = await transport.pool(server.trust, endpoint)

            async def ask() -> bytes:
                answer = await transport.exchange(server.trust, endpoint, "GET", b"GET / HTTP/1.1\r\n\r\n", before)
                return await answer.read()

            assert await ask() == b"ok"
            asking = asyncio.create_task(ask())
            await server.taken.wait()
            transport.forget(frozenset())
            server.released.set()
            assert await asking == b"ok"
            assert server.seen == ["GET"] * 3
            assert before.is_empty
            assert not (await transport.pool(server.trust, endpoint)).is_empty
        await transport.close()

    run(main())


class Pair:
    """A client certificate's files, which can be replaced one by one."""

    def __init__(self, directory: Path) -> None:
        self.cert, self.key = directory / "proxy.crt", directory / "proxy.key"
        ca_key = new_key()
        self._authority = issue_ca(ca_key, "proxy-ca", time.time()), ca_key
        for file, content in self.made().items():
            file.write_bytes(content)

    def made(self) -> dict[Path, bytes]:
        """Another pair, to be written."""
        key = new_key()
        return {self.cert: issue_client(key, self._authority, ("proxy", ()), time.time()), self.key: key}


async def look(clock: FakeClock) -> None:
    """Have the files looked at, once."""
    await clock.advance(transport_module.LOOK_SECONDS)
    async with asyncio.timeout(10):
        while not clock.sleepers:  # noqa: ASYNC110 - files are looked at in a thread, which takes no virtual time
            await asyncio.sleep(0.001)


def test_a_certificate_is_taken_up_when_it_can_be_used(tmp_path: Path) -> None:
    """Not while the key beside it is still the one before, nor when there is none."""

    async def main() -> None:
        server, pair, clock = Server(tmp_path), Pair(tmp_path), FakeClock()
        transport = ForwardTransport(cert_file=str(pair.cert), key_file=str(pair.key))
        async with TaskGroup("test") as group:
            following = group.start(transport.follow_certificate(clock), name="follow")
            before, pool = await transport.context(server.trust), await transport.pool(server.trust, Endpoint("::1", 1))

            async def looked() -> ssl.SSLContext:
                await look(clock)
                return await transport.context(server.trust)

            pair.cert.write_bytes((made := pair.made())[pair.cert])
            assert await looked() is before
            assert await looked() is before
            pair.key.unlink()
            assert await looked() is before
            kept = not pool.retired
            pair.key.write_bytes(made[pair.key])
            assert await looked() is not before
            assert (kept, pool.retired) == (True, True), "no connection of before is used again"
            following.cancel()
        await transport.close()

    run(main())


class Slow(ForwardTransport):
    """Files are read when it is ``asked``, and what was read is used when it is ``told``."""

    def __init__(self, pair: Pair) -> None:
        super().__init__(cert_file=str(pair.cert), key_file=str(pair.key))
        self.asked, self.told = threading.Event(), threading.Event()
        self.made: list[ssl.SSLContext] = []

    def _make_context(self, trust: Trust) -> ssl.SSLContext:
        self.made.append(super()._make_context(trust))
        self.asked.set()
        assert self.told.wait(10)
        return self.made[-1]


def test_what_was_read_before_a_change_is_not_kept_after_it(tmp_path: Path) -> None:
    async def main() -> None:
        server, pair, clock = Server(tmp_path), Pair(tmp_path), FakeClock()
        transport = Slow(pair)
        async with TaskGroup("test") as group:
            following = group.start(transport.follow_certificate(clock), name="follow")
            asking = asyncio.create_task(transport.context(server.trust))
            await asyncio.to_thread(transport.asked.wait, 10)
            for file, content in pair.made().items():
                file.write_bytes(content)
            await look(clock)
            transport.told.set()
            assert await asking is transport.made[1]
            assert await transport.context(server.trust) is transport.made[1]
            following.cancel()
        await transport.close()

    run(main())
