"""Connections to one server: a few are made at a time, and who waits gets one or a turn, whatever happens to others."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.client.forward.exchange import Connection
from controlplane.client.forward.pool import CONNECTS, Pool, Unanswered
from tests.aio import run

BURST = 32


class Server:
    """Takes connections when it is told to. ``under_way``: those that wait for it; ``most``: at a time, so far."""

    def __init__(self) -> None:
        self.under_way: list[asyncio.Future[Connection]] = []
        self.most = 0
        self.pool = Pool(self.connect)

    async def connect(self, pool: Pool) -> Connection:
        answer: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self.under_way.append(answer)
        self.most = max(self.most, len(self.under_way))
        return await answer

    def take(self) -> None:
        self.under_way.pop(0).set_result(Connection(self.pool.free, lambda _: None))

    def refuse(self) -> None:
        self.under_way.pop(0).set_exception(Unanswered("i/o timeout"))

    async def asked(self, number: int) -> list[asyncio.Task[Connection]]:
        tasks = [asyncio.ensure_future(self.pool.connection()) for _ in range(number)]
        await turns()
        return tasks


async def turns() -> None:
    """Let everybody do what can be done."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_burst_connects_a_few_at_a_time() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.asked(BURST)
        while server.under_way:
            server.take()
            await turns()
        assert len({id(await task) for task in tasks}) == BURST
        assert server.most == CONNECTS

    run(main())


def test_who_waits_gets_a_connection_that_becomes_free() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.asked(BURST)
        server.take()
        connection = await tasks[0]
        for task in tasks[CONNECTS + 1 :]:
            server.pool.free(connection)
            assert await task is connection
        assert server.most == len(server.under_way) == CONNECTS
        for _ in range(CONNECTS):
            server.take()
        await asyncio.gather(*tasks)
        server.pool.free(connection)
        assert server.pool.kept() is connection

    run(main())


def test_a_closed_connection_is_given_to_nobody() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.asked(CONNECTS + 1)
        server.take()
        connection = await tasks[0]
        (turn,) = await server.asked(1)  # the last of the first got a turn
        server.pool.free(connection)
        connection.abort()
        await turns()
        assert not turn.done()
        for _ in range(CONNECTS + 1):
            server.take()
            await turns()
        assert not (await turn).closed

    run(main())


def test_a_failure_speaks_for_who_waits_if_nobody_got_through_meanwhile() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.asked(BURST)
        server.refuse()
        await turns()
        failed = [task for task in tasks if task.done()]
        assert len(failed) == BURST - (CONNECTS - 1)
        for task in failed:
            with pytest.raises(Unanswered, match="i/o timeout"):
                await task
        while server.under_way:
            server.take()
        await turns()
        (later,) = await server.asked(1)
        server.take()
        await later

    run(main())


def test_a_failure_is_one_requests_own_if_another_got_through() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.asked(BURST)
        server.take()
        await turns()
        server.refuse()
        while server.under_way:
            await turns()
            if server.under_way:
                server.take()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results].count(Unanswered) == 1
        assert server.most == CONNECTS

    run(main())


@pytest.mark.parametrize("gets_connection", [True, False], ids=["connection", "turn"])
def test_what_comes_for_somebody_who_has_gone_is_the_next_ones(gets_connection: bool) -> None:
    async def main() -> None:
        server = Server()
        first = await server.asked(CONNECTS)
        server.take()
        connection = await first[0]
        filling = await server.asked(1)
        gone, following = await server.asked(2)
        if gets_connection:
            server.pool.free(connection)
        else:
            server.take()
            await asyncio.sleep(0)  # it is given the turn, and has not taken it yet
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        await turns()
        if gets_connection:
            assert await following is connection
        while server.under_way:
            server.take()
            await turns()
        await asyncio.gather(*first, *filling, following)
        assert server.most == CONNECTS

    run(main())


def test_a_retired_pool_closes_what_is_idle() -> None:
    async def main() -> None:
        server = Server()
        (task,) = await server.asked(1)
        server.take()
        connection = await task
        server.pool.free(connection)
        server.pool.retire()
        assert connection.closed
        assert server.pool.kept() is None

    run(main())
