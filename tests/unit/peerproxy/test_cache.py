"""What is known of peers as they come, move, restart, fail and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.registry.peers import Peer, PeerOpenAPI
from controlplane.base.clock import Clock, SystemClock
from controlplane.peerproxy.cache import PeerCache
from controlplane.peerproxy.discovery import AskFailed
from controlplane.peerproxy.fetch import Resources
from controlplane.peerproxy.metrics import PEERS
from controlplane.peerproxy.told import SERVES_ANNOTATION
from controlplane.testing.clock import FakeClock
from tests.aio import run


class Record(NamedTuple):
    server_id: str
    host: str = "127.0.0.1"
    port: int = 1
    holder: str = "first"
    annotations: Mapping[str, str] = MappingProxyType({})


class Records:
    """Peers as a test sets them."""

    def __init__(self, *records: Record) -> None:
        self.own_id = "own"
        self.peers: dict[str, Record] = {record.server_id: record for record in records}
        self._followers: list[Callable[[Peer | None, Peer | None], None]] = []

    def follow(self, changed: Callable[[Peer | None, Peer | None], None]) -> Callable[[], None]:
        self._followers.append(changed)
        return lambda: self._followers.remove(changed)

    def set(self, server_id: str, record: Record | None) -> None:
        old = self.peers.pop(server_id, None)
        if record is not None:
            self.peers[server_id] = record
        for follower in self._followers:
            follower(old, record)


class Answers:
    """Peers' answers: groups, or why there are none and what to do. ``asked``: whom, by id and process."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.failing = self.remedy = ""
        self.held = asyncio.Event()
        self.held.set()

    async def resources(self, peer: Peer) -> Resources:
        self.asked.append((peer.server_id, peer.holder))
        await self.held.wait()
        if self.failing:
            raise AskFailed(self.failing, self.remedy)
        return Resources(({"metadata": {"name": f"{peer.holder}.example.org"}, "versions": []},), {})

    async def openapi(self, _peer: Peer, _groups: Sequence[Obj]) -> Mapping[GroupVersion, PeerOpenAPI]:
        return {}


class Watched:
    """A cache, and a way to wait for what it says."""

    def __init__(self, records: Records, answers: Answers, clock: Clock | None = None) -> None:
        self.changes = 0
        self.sees_all = True
        self._changed = asyncio.Event()
        self.cache = PeerCache(
            records,
            answers,
            changed=self._count,
            sees_all=lambda: self.sees_all,
            clock=clock or SystemClock(),
            on_failure=self._fail,
        )

    def _count(self) -> None:
        self.changes += 1
        self._changed.set()

    def _fail(self, error: BaseException) -> None:
        raise error

    def said(self) -> dict[str, Any]:
        return {
            id_: (heard.groups[0]["metadata"]["name"].partition(".")[0], heard.current)
            for id_, heard in self.cache.heard.items()
        }

    async def until(self, wanted: dict[str, Any]) -> None:
        async with asyncio.timeout(5):
            while self.said() != wanted:
                self._changed.clear()
                await self._changed.wait()


def test_a_peer_is_heard_once_begun_and_anew_when_it_is_started_again() -> None:
    async def main() -> None:
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers)
        assert watched.cache.unheard() == ["a"]
        assert not answers.asked, "nothing is asked before the server listens"
        watched.cache.begin()
        await watched.until({"a": ("first", True)})
        records.set("a", Record("a", holder="second"))
        assert watched.said() == {"a": ("first", True)}, "what it said counts until it says something else"
        await watched.until({"a": ("second", True)})
        records.set("a", Record("a", holder="second"))
        records.set("own", Record("own"))
        await asyncio.sleep(0)
        assert answers.asked == [("a", "first"), ("a", "second")], "a refreshed record is no reason to ask"
        await watched.cache.close()

    run(main())


def test_a_peer_that_serves_something_else_is_asked_by_who_does_not_see_it() -> None:
    async def main() -> None:
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers)
        watched.cache.begin()
        await watched.until({"a": ("first", True)})
        records.set("a", Record("a", annotations={SERVES_ANNOTATION: "1"}))
        await asyncio.sleep(0)
        assert len(answers.asked) == 1, "it is in the store"
        watched.sees_all = False
        records.set("a", Record("a", annotations={SERVES_ANNOTATION: "1", "else": "new"}))
        await asyncio.sleep(0)
        assert len(answers.asked) == 1, "it serves what it did"
        records.set("a", Record("a", annotations={SERVES_ANNOTATION: "2"}))
        await asyncio.sleep(0)
        assert len(answers.asked) == 2
        await watched.cache.close()

    run(main())


def test_the_last_peer_that_goes_leaves_nothing() -> None:
    async def main() -> None:
        records = Records(Record("a"))
        watched = Watched(records, Answers())
        watched.cache.begin()
        await watched.until({"a": ("first", True)})
        before = watched.changes
        records.set("a", None)
        assert (watched.said(), watched.changes, watched.cache.unheard()) == ({}, before + 1, [])
        await watched.cache.close()

    run(main())


def test_a_peer_that_cannot_be_asked_is_stale_or_unheard_and_asked_until_it_answers() -> None:
    async def main() -> None:
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers)
        watched.cache.begin()
        await watched.until({"a": ("first", True)})
        answers.failing = "refused"
        records.set("a", Record("a", holder="second"))
        records.set("b", Record("b", holder="new"))
        await watched.until({"a": ("first", False)})
        await watched.cache.tried()
        assert watched.cache.unheard() == ["b"]
        answers.failing = ""
        await watched.until({"a": ("second", True), "b": ("new", True)})
        await watched.cache.close()

    run(main())


def test_one_peer_is_asked_by_one_at_a_time() -> None:
    async def main() -> None:
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers)
        answers.held.clear()
        watched.cache.begin()
        await asyncio.sleep(0)
        for _ in range(3):
            watched.cache.ask_again("a")
        await asyncio.sleep(0)
        assert answers.asked == [("a", "first")]
        answers.held.set()
        await watched.until({"a": ("first", True)})
        watched.cache.ask_again("a")
        watched.cache.ask_again("nobody")
        await asyncio.sleep(0)
        assert answers.asked == [("a", "first")], "it has only just said what it serves"
        await watched.cache.close()

    run(main())


def test_a_peer_whose_word_is_doubtful_is_asked_again_after_a_while() -> None:
    async def main() -> None:
        clock = FakeClock()
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers, clock)
        watched.cache.begin()
        await watched.until({"a": ("first", True)})
        await clock.advance(10.0)
        watched.cache.ask_again("a")
        await clock.advance(0)
        assert answers.asked == [("a", "first")] * 2
        await watched.cache.close()

    run(main())


def test_what_must_be_put_right_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        clock = FakeClock()
        records, answers = Records(Record("a")), Answers()
        answers.failing, answers.remedy = "not signed", "sign it"
        watched = Watched(records, answers, clock)
        watched.cache.begin()
        for _ in range(50):
            await clock.advance(1.0)
        assert len(answers.asked) > 10
        assert [record.getMessage() for record in caplog.records] == ["a peer cannot be asked what it serves"]
        for _ in range(20):
            await clock.advance(1.0)
        answers.failing = "expired"
        for _ in range(20):
            await clock.advance(1.0)
        assert len(caplog.records) == 3, "again after a minute, and what is new at once"
        await watched.cache.close()

    run(main())


def states() -> dict[str, float]:
    return {state: PEERS.labels_cached((state,)).value for state in ("heard", "stale", "unheard")}


def test_a_peer_that_never_answers_is_counted_and_named_every_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        clock = FakeClock()
        records, answers = Records(Record("a")), Answers()
        answers.failing = "dial tcp 127.0.0.1:1: i/o timeout"
        watched = Watched(records, answers, clock)
        watched.cache.begin()
        for _ in range(150):
            await clock.advance(1.0)
        assert states() == {"heard": 0, "stale": 0, "unheard": 1}
        first, *later = caplog.records
        assert first.levelname == "WARNING"
        assert [record.levelname for record in later] == ["ERROR", "ERROR"]
        assert "answers 503" in str(later[0].__dict__)
        answers.failing = ""
        await clock.advance(10.0)
        assert states() == {"heard": 1, "stale": 0, "unheard": 0}
        answers.failing = "gone"
        records.set("a", Record("a", holder="second"))
        await clock.advance(1.0)
        assert states() == {"heard": 0, "stale": 1, "unheard": 0}
        records.set("a", None)
        assert states() == {"heard": 0, "stale": 0, "unheard": 0}
        await watched.cache.close()

    run(main())


def test_a_peer_that_goes_while_it_is_asked_is_waited_for_no_longer() -> None:
    async def main() -> None:
        records, answers = Records(Record("a")), Answers()
        watched = Watched(records, answers)
        answers.held.clear()
        watched.cache.begin()
        waiting = asyncio.ensure_future(watched.cache.tried())
        await asyncio.sleep(0)
        assert not waiting.done()
        records.set("a", None)
        await waiting
        assert watched.cache.unheard() == []
        await watched.cache.close()

    run(main())
