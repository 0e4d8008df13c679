"""What is remembered of tokens, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication import token_cache
from controlplane.apiserver.authentication.api import Audiences, BadCredentials, TokenIdentity
from controlplane.apiserver.authentication.token_cache import CachedTokens
from controlplane.testing.clock import FakeClock
from tests.aio import run

API = ("api",)


class Slow:
    """Knows ``good``; waits for ``go`` before it answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Audiences]] = []
        self.go = asyncio.Event()
        self.go.set()

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        self.asked.append((token, audiences))
        await self.go.wait()
        if token == "bad":
            raise BadCredentials("it is bad")
        return TokenIdentity(UserInfo(name="jane"), audiences) if token == "good" else None


def test_an_answer_counts_for_its_time_and_for_its_audiences() -> None:
    async def scenario() -> None:
        clock, slow = FakeClock(), Slow()
        cache = CachedTokens(slow, success_seconds=10, failure_seconds=5, clock=clock)
        for _ in range(2):
            assert await cache.authenticate_token("good", API) is not None
            assert await cache.authenticate_token("other", API) is None
        assert len(slow.asked) == 2
        await cache.authenticate_token("good", ("bank",))
        assert slow.asked[-1] == ("good", ("bank",))
        await clock.advance(6)
        await cache.authenticate_token("other", API)
        await cache.authenticate_token("good", API)
        assert len(slow.asked) == 4
        await clock.advance(5)
        await cache.authenticate_token("good", API)
        assert len(slow.asked) == 5
        cache.forget()
        await cache.authenticate_token("good", API)
        assert len(slow.asked) == 6
        for _ in range(2):
            with pytest.raises(BadCredentials):
                await cache.authenticate_token("bad", API)
        assert len(slow.asked) == 8

    run(scenario())


def test_who_asks_at_once_shares_one_answer_and_outlives_a_cancelled_asker() -> None:
    async def scenario() -> None:
        slow = Slow()
        slow.go.clear()
        cache = CachedTokens(slow, success_seconds=10, clock=FakeClock())
        first, *others = [asyncio.ensure_future(cache.authenticate_token("good", API)) for _ in range(4)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        slow.go.set()
        answers = await asyncio.gather(*others)
        assert {answer.user.name for answer in answers if answer is not None} == {"jane"}
        assert len(slow.asked) == 2  # the cancelled one's, and one for all others

    run(scenario())


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "ENTRIES_LIMIT", 2)

    async def scenario() -> None:
        slow = Slow()
        cache = CachedTokens(slow, success_seconds=10, failure_seconds=10, clock=FakeClock())
        for token in ("a", "b", "c", "a"):
            await cache.authenticate_token(token, API)
        assert [token for token, _ in slow.asked] == ["a", "b", "c", "a"]

    run(scenario())
