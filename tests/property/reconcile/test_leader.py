"""Never two leaders, whatever the network and the processes do; and a leader again once they are well."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.tasks import TaskGroup
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer
from tests.unit.reconcile.candidates import Candidate, Term

NAMES = ("a", "b", "c")
STEPS = 8
STOP_SECONDS = 4.9
"""The slowest work that the guarantee allows for: under lease minus renew deadline."""


def overlaps(terms: list[Term]) -> list[tuple[Term, Term]]:
    """Pairs of terms that ran at the same time."""
    ordered = sorted(terms, key=lambda term: (term.start, term.end))
    return [(one, two) for one, two in pairwise(ordered) if two.start < one.end]


class Election:
    """Three candidates, and a history of faults drawn from a seed, aimed at the leader every second time."""

    def __init__(self, seed: int, group: TaskGroup, clock: FakeClock) -> None:
        self.random, self.group, self.clock = Random(seed), group, clock
        self.server, self.terms = SmallServer(), list[Term]()
        self.candidates = {name: self.candidate(name) for name in NAMES}

    def candidate(self, name: str) -> Candidate:
        made = Candidate(name, self.server.handle, self.clock, self.terms, stop_seconds=STOP_SECONDS)
        made.start(self.group)
        return made

    def leaders(self) -> list[str]:
        return [name for name, one in self.candidates.items() if one.elector.leading]

    async def step(self, number: int) -> None:
        """Do something to one candidate, and let time pass."""
        name = self.random.choice(self.leaders() or NAMES) if self.random.random() < 0.5 else self.random.choice(NAMES)
        one = self.candidates[name]
        match self.random.choice(("cut", "cut", "deaf", "slow", "heal", "stop", "kill")):
            case "cut":
                one.reachable = False
            case "deaf":
                one.answered = False
            case "slow":
                one.seconds_each_way = self.random.choice((0.1, 1.5, 4.0, 9.0))
            case "heal":
                self.heal(one)
            case "stop":
                await one.stop()
                self.candidates[name] = self.candidate(f"{name}{number}")
            case "kill":
                one.kill()
                self.candidates[name] = self.candidate(f"{name}{number}")  # the process started in its place
        await self.clock.advance(self.random.uniform(0.1, 25))

    @staticmethod
    def heal(one: Candidate) -> None:
        one.reachable = one.answered = True
        one.seconds_each_way = 0.0


@given(seed=st.integers(0, 2**32))
def test_no_two_lead_at_once_and_somebody_leads_in_the_end(seed: int) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with TaskGroup("election") as group, clock:
            election = Election(seed, group, clock)
            await clock.advance(5)
            for number in range(STEPS):
                await election.step(number)
                assert not overlaps(election.terms)
            for one in election.candidates.values():
                election.heal(one)
            await clock.advance(60)
            assert not overlaps(election.terms)
            (leader,) = election.leaders()
            spec = election.server.objects["leases", "kube-system", "test"]["spec"]
            assert spec["holderIdentity"] == election.candidates[leader].name

    run(main())
