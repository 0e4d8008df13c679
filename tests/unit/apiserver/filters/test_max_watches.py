"""Limits of the watches that a user has open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.filters.max_watches import with_max_watches
from controlplane.base.streams import Chunk, Sink
from controlplane.client.request import Request, Response, StreamResponse
from tests.aio import run
from tests.unit.apiserver.filters.harness import ALICE, answering, request

WATCH = "/api/v1/namespaces/ns/configmaps?watch=true"
ADMIN = UserInfo(name="admin", groups=("system:masters",))
BOB = UserInfo(name="bob")


async def _nothing(_sink: Sink) -> None:
    pass


async def _run(response: StreamResponse) -> None:
    await response.run(Nowhere())


class Nowhere:
    """A sink that nothing is written to."""

    closed = True

    def write(self, chunk: Chunk) -> None:
        raise AssertionError(chunk)

    def buffered_bytes(self) -> int:
        return 0

    def on_drain(self, callback: Callable[[], None]) -> None:
        raise AssertionError(callback)

    async def until_closed(self) -> None:
        return


def test_each_user_has_so_many_and_no_more_and_administrators_have_all() -> None:
    async def scenario() -> None:
        go = asyncio.Event()

        async def stream(_: Request) -> Response:
            async def write(_sink: Sink) -> None:
                await go.wait()

            return StreamResponse(write)

        handler = with_max_watches(stream, per_user=2)
        running: list[asyncio.Task[None]] = []

        async def watch(user: UserInfo = ALICE, identity: UserInfo | None = None) -> None:
            response = await handler(request(WATCH, user=user, identity=identity))
            assert isinstance(response, StreamResponse)
            running.append(asyncio.get_running_loop().create_task(_run(response)))
            await asyncio.sleep(0)

        await watch()
        await watch()
        with pytest.raises(APIError) as refused:
            await watch()
        assert (refused.value.code, refused.value.reason, refused.value.retry_after_seconds) == (
            429,
            "TooManyRequests",
            1,
        )
        assert refused.value.message == 'user "alice" has 2 watches open, and may have no more'
        await watch(BOB)
        for _ in range(3):
            await watch(ADMIN)
            await watch(BOB, identity=BOB)
        go.set()
        await asyncio.gather(*running)
        await watch()

    run(scenario())


def test_only_watches_that_are_written_count() -> None:
    async def scenario() -> None:
        unwritten = StreamResponse(_nothing)
        handler = with_max_watches(answering(unwritten), per_user=1)
        for _ in range(3):
            assert await handler(request(WATCH)) is unwritten
        listed = with_max_watches(answering(), per_user=1)
        for _ in range(3):
            assert (await listed(request())).status == 200

    run(scenario())


def test_no_limit_is_no_filter() -> None:
    handler = answering()
    assert with_max_watches(handler, per_user=0) is handler
