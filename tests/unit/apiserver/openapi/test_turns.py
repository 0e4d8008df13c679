from __future__ import annotations

import asyncio

import pytest

from controlplane.apiserver.openapi.turns import Turns
from tests.aio import run


class Build:
    """A build that takes until it is let go; gives how many have begun."""

    def __init__(self) -> None:
        self.begun = self.under_way = self.most = 0
        self.go = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        number = self.begun
        try:
            await self.go.wait()
            return number
        finally:
            self.under_way -= 1


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_who_waits_shares_a_build_that_began_later_than_the_question() -> None:
    async def scenario() -> None:
        turns, build = Turns[int](), Build()
        first = asyncio.ensure_future(turns.take(build))
        await settle()
        others = [asyncio.ensure_future(turns.take(build)) for _ in range(50)]
        await settle()
        build.go.set()
        assert await first == 1
        assert await asyncio.gather(*others) == [2] * 50
        assert (build.begun, build.most) == (2, 1)

    run(scenario())


def test_who_goes_away_leaves_the_turn_to_the_next() -> None:
    async def scenario() -> None:
        turns, build = Turns[int](), Build()
        first, second = (asyncio.ensure_future(turns.take(build)) for _ in range(2))
        await settle()
        first.cancel()
        build.go.set()
        assert await second == 2
        assert first.cancelled()

    run(scenario())


def test_a_failed_build_is_tried_again_by_the_next() -> None:
    async def scenario() -> None:
        turns, build = Turns[int](), Build()
        build.go.set()

        async def fail() -> int:
            raise ValueError("broken")

        failing = asyncio.ensure_future(turns.take(fail))
        following = asyncio.ensure_future(turns.take(build))
        with pytest.raises(ValueError, match="broken"):
            await failing
        assert await following == 1

    run(scenario())


def test_a_later_question_gets_a_build_of_its_own() -> None:
    async def scenario() -> None:
        turns, build = Turns[int](), Build()
        build.go.set()
        assert [await turns.take(build) for _ in range(3)] == [1, 2, 3]

    run(scenario())
