"""How many connections there may be: the next ones are told, and their places are free again when others have gone."""

from __future__ import annotations

import asyncio
import resource
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from controlplane.apiserver.server.listen import door
from controlplane.apiserver.server.listen.door import Door
from controlplane.apiserver.server.metrics import CONNECTIONS, CONNECTIONS_REFUSED
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import Served, serving
from tests.unit.base.tls import certs


async def hello(_: Request) -> Response:
    return Response(200, b"hello")


def contexts(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and the client's."""
    cert_file, key_file = certs.serving("localhost").write(directory, "serving")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert_file, key_file)
    return server, certs.trusting(certs.ca().pem)


def refused(reason: str) -> float:
    return CONNECTIONS_REFUSED.labels_cached((reason,)).value


async def is_told(served: Served) -> None:
    async with served.wire() as wire:
        answer = await wire.get("/")
        assert (answer.status, answer.headers["retry-after"], answer.headers["connection"]) == (429, "1", "close")
        assert answer.body == b"Too many connections, please try again later.\n"
        assert await wire.at_end()


async def is_served(served: Served) -> bool:
    async with served.wire() as wire:
        return (await wire.get("/")).status == 200


@pytest.mark.parametrize(
    ("limits", "reason"), [({"most_connections": 2}, "total"), ({"most_per_address": 2}, "address")]
)
def test_the_next_one_is_told_until_a_place_is_free(limits: dict[str, int], reason: str, tmp_path: Path) -> None:
    server_tls, client_tls = contexts(tmp_path)

    async def scenario() -> None:
        limited = serving(
            hello,
            server_tls=server_tls,
            client_tls=client_tls,
            most_connections=limits.get("most_connections", 0),
            most_per_address=limits.get("most_per_address", 0),
        )
        async with limited as served:
            before = refused(reason)
            async with served.wire() as one, served.wire() as two:
                assert [(await wire.get("/")).status for wire in (one, two)] == [200, 200]
                assert CONNECTIONS.labels_cached(()).value == 2
                await is_told(served)
                await is_told(served)
                assert refused(reason) == before + 2
                assert (await one.get("/")).status == 200, "those inside go on"
            async with asyncio.timeout(5):
                while not await is_served(served):  # noqa: ASYNC110  # until the server has seen them leave
                    await asyncio.sleep(0.01)

    run(scenario())


def test_who_waits_silently_to_be_told_goes_after_a_moment_and_more_than_some_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "TELL_SECONDS", 0.2)
    monkeypatch.setattr(door, "TOLD_AT_A_TIME", 1)

    async def scenario() -> None:
        async with serving(hello, most_connections=1) as served, AsyncExitStack() as stack:
            inside = await stack.enter_async_context(served.wire())
            assert (await inside.get("/")).status == 200
            waiting = await stack.enter_async_context(served.wire())
            at_once = await stack.enter_async_context(served.wire())
            began = asyncio.get_running_loop().time()
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await at_once.reader.readexactly(1)
            assert asyncio.get_running_loop().time() - began < 0.2
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await waiting.reader.readexactly(1)
            await is_told(served)

    run(scenario())


def test_closing_the_listener_ends_those_who_are_being_told() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            served = await stack.enter_async_context(serving(hello, most_connections=1))
            inside = await stack.enter_async_context(served.wire())
            assert (await inside.get("/")).status == 200
            waiting = await stack.enter_async_context(served.wire())
            await asyncio.sleep(0.05)
            await served.listener.close(seconds=0.1)
            async with asyncio.timeout(1):
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await waiting.reader.readexactly(1)

    run(scenario())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, *, same: bool) -> None:
    entrance = Door(most_per_address=1)
    place = entrance.enter(one)
    assert place is not None
    assert (entrance.enter(other) is None) is same
    place.leave()
    place.leave()
    assert entrance.enter(one) is not None


@pytest.mark.parametrize(
    ("files", "asked", "most"),
    [(1000, 0, 744), (1000, 10, 10), (1000, 5000, 744), (100, 0, 50), (-1, 7, 7), (-1, 0, 0)],
)
def test_there_are_never_more_than_files_to_open(
    monkeypatch: pytest.MonkeyPatch, files: int, asked: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    entrance = Door(most=asked)
    inside = 0
    while inside < 2000 and entrance.enter("10.0.0.1") is not None:
        inside += 1
    assert inside == (most or 2000)
