"""Leader election on virtual time: who leads when, what is written, and when it changes hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.base.tasks import TaskGroup
from controlplane.reconcile import metrics
from controlplane.reconcile.leader import JITTER, ElectionTimes
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer
from tests.unit.reconcile.candidates import LEASE, Candidate, Term

RETRY_AT_MOST = 2 * (1 + JITTER)
"""Seconds between two tries of a candidate, at most."""


class Election:
    """A server, a clock, some candidates and their terms in office."""

    def __init__(self, group: TaskGroup) -> None:
        self.server, self.clock, self.group = SmallServer(), FakeClock(), group
        self.terms: list[Term] = []

    def candidate(self, name: str) -> Candidate:
        return Candidate(name, self.server.handle, self.clock, self.terms)

    async def started(self, *names: str) -> list[Candidate]:
        """Start candidates one after another; each has made its first try when the next starts."""
        candidates = [self.candidate(name) for name in names]
        for candidate in candidates:
            candidate.start(self.group)
            await self.clock.settle()
        return candidates

    def spec(self) -> Obj:
        spec: Obj = self.server.objects["leases", LEASE.namespace, LEASE.name]["spec"]
        return spec


@asynccontextmanager
async def election() -> AsyncIterator[Election]:
    async with TaskGroup("election") as group:
        yield Election(group)


def test_the_first_candidate_makes_the_lease_and_leads() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            assert a.elector.leading
            assert vote.spec() == {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "acquireTime": "2023-11-14T22:13:20.000000Z",
                "renewTime": "2023-11-14T22:13:20.000000Z",
                "leaseTransitions": 0,
            }
            assert metrics.LEADER.labels_cached((LEASE.name,)).value == 1

    run(main())


def test_a_leader_renews_every_two_seconds_by_one_request() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            a.requests.clear()
            await vote.clock.advance(20)
            assert [request.method for request in a.requests] == ["PUT"] * 10
            assert vote.spec()["renewTime"] == "2023-11-14T22:13:40.000000Z"
            assert vote.spec()["acquireTime"] == "2023-11-14T22:13:20.000000Z"

    run(main())


def test_others_only_watch_while_the_leader_renews() -> None:
    async def main() -> None:
        async with election() as vote:
            _, b = await vote.started("a", "b")
            await vote.clock.advance(300)
            assert [term.who for term in vote.terms] == ["a"]
            assert {request.method for request in b.requests} == {"GET"}
            assert b.elector.holder == "a"

    run(main())


def test_a_killed_leader_is_replaced_once_its_lease_has_been_silent_for_its_duration() -> None:
    async def main() -> None:
        async with election() as vote:
            a, _ = await vote.started("a", "b")
            await vote.clock.advance(10)
            a.kill()
            await vote.clock.advance(14.9)
            assert len(vote.terms) == 1
            await vote.clock.advance(0.1 + 2 * RETRY_AT_MOST)
            assert [term.who for term in vote.terms] == ["a", "b"]
            assert vote.spec()["holderIdentity"] == "b"
            assert vote.spec()["leaseTransitions"] == 1

    run(main())


def test_a_leader_that_stops_hands_over_at_the_next_try() -> None:
    async def main() -> None:
        async with election() as vote:
            a, _ = await vote.started("a", "b")
            await vote.clock.advance(10)
            await a.stop()
            assert vote.spec() == {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": "2023-11-14T22:13:30.000000Z",
                "renewTime": "2023-11-14T22:13:30.000000Z",
                "leaseTransitions": 0,
            }
            await vote.clock.advance(RETRY_AT_MOST)
            assert [(term.who, term.end) for term in vote.terms] == [("a", 10), ("b", float("inf"))]

    run(main())


def test_the_lease_is_given_back_only_after_the_work_has_ended() -> None:
    async def main() -> None:
        async with election() as vote:
            a, _ = await vote.started("a", "b")
            a.stop_seconds = 3
            await a.stop()
            await vote.clock.advance(2.9)
            assert vote.spec()["holderIdentity"] == "a"
            await vote.clock.advance(0.1)
            assert vote.spec()["holderIdentity"] == ""

    run(main())


def test_a_leader_cut_off_stops_ten_seconds_after_it_sent_its_last_renewal() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            await vote.clock.advance(6)
            a.reachable = False
            await vote.clock.advance(9.9)
            assert a.elector.leading
            await vote.clock.advance(0.1)
            assert vote.terms == [Term("a", 0, 16)]

    run(main())


def test_the_deadline_counts_from_the_sending_when_answers_are_slow() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            a.seconds_each_way = 2.0
            await vote.clock.advance(6)  # renewed once: sent at 2, answered at 6
            a.reachable = False
            await vote.clock.advance(10)
            assert vote.terms == [Term("a", 0, 12)]

    run(main())


def test_a_leader_that_was_cut_off_leads_again_if_nobody_took_over() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            a.reachable = False
            await vote.clock.advance(40)
            a.reachable = True
            await vote.clock.advance(RETRY_AT_MOST + 10)
            assert a.elector.leading
            assert [term.who for term in vote.terms] == ["a", "a"]
            assert vote.spec()["leaseTransitions"] in (0, 1)

    run(main())


def test_a_renewal_whose_answer_was_lost_is_found_by_looking() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            slow = metrics.LEADER_SLOW_PATH.labels_cached((LEASE.name,)).value
            await vote.clock.advance(1)
            a.answered = False
            await vote.clock.advance(2)
            a.answered = True
            await vote.clock.advance(5)
            assert a.elector.leading
            assert vote.terms == [Term("a", 0)]
            assert metrics.LEADER_SLOW_PATH.labels_cached((LEASE.name,)).value == slow + 1

    run(main())


def test_a_leader_that_sees_another_holder_stops_at_once_and_leaves_the_lease_to_it() -> None:
    async def main() -> None:
        async with election() as vote:
            (a,) = await vote.started("a")
            lease = vote.server.objects["leases", LEASE.namespace, LEASE.name]
            vote.server.put("leases", LEASE.name, LEASE.namespace, spec={**lease["spec"], "holderIdentity": "x"})
            await vote.clock.advance(2)
            assert not a.elector.leading
            assert vote.terms == [Term("a", 0, 2)]
            assert vote.spec()["holderIdentity"] == "x"

    run(main())


def test_a_lease_left_by_client_go_is_respected_for_its_own_duration() -> None:
    async def main() -> None:
        async with election() as vote:
            vote.server.put(
                "leases",
                LEASE.name,
                LEASE.namespace,
                spec={"holderIdentity": "go_1", "leaseDurationSeconds": 60, "leaseTransitions": 7},
            )
            (a,) = await vote.started("a")
            await vote.clock.advance(59.9)
            assert vote.terms == []
            await vote.clock.advance(0.1 + RETRY_AT_MOST)
            assert a.elector.leading
            assert vote.spec()["leaseTransitions"] == 8

    run(main())


def test_work_that_fails_gives_the_lease_back_and_is_raised() -> None:
    async def fail() -> None:
        raise LookupError("work")

    async def main() -> None:
        async with election() as vote:
            candidate = vote.candidate("a")
            with pytest.raises(LookupError, match="work"):
                await candidate.elector.lead(fail)
            assert vote.spec()["holderIdentity"] == ""

    run(main())


def test_work_that_ends_by_itself_is_an_error() -> None:
    async def main() -> None:
        async with election() as vote:
            with pytest.raises(RuntimeError, match="ended by itself"):
                await vote.candidate("a").elector.lead(lambda: asyncio.sleep(0))

    run(main())


@pytest.mark.parametrize(
    ("times", "what"),
    [
        ({"retry_seconds": 0.0}, "retry_seconds must be above 0"),
        ({"renew_deadline_seconds": 2.4}, "renew_deadline_seconds must be above"),
        ({"lease_seconds": 10}, "lease_seconds must be above"),
    ],
)
def test_times_that_cannot_work_are_refused(times: dict[str, float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ElectionTimes(**times)  # type: ignore[arg-type]  # one of each kind
