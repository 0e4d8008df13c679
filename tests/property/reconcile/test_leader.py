"""Never two leaders, whatever the network and the processes do; and a leader again once they are well."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.base.tasks import TaskGroup
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer
from tests.unit.reconcile.candidates import Candidate, Term

NAMES = ("a", "b", "c")
FAULTS = st.one_of(
    st.tuples(st.just("reachable"), st.booleans()),
    st.tuples(st.just("answered"), st.booleans()),
    st.tuples(st.just("seconds_each_way"), st.sampled_from([0.0, 0.1, 1.5, 4.0, 9.0])),
    st.tuples(st.just("stop_seconds"), st.sampled_from([0.0, 1.0, 4.9])),
    st.tuples(st.just("stop"), st.none()),
    st.tuples(st.just("kill"), st.none()),
)
STEPS = st.lists(st.tuples(st.floats(0.1, 20.0), st.sampled_from(NAMES), FAULTS), min_size=1, max_size=12)


def overlaps(terms: list[Term]) -> list[tuple[Term, Term]]:
    """Pairs of terms that ran at the same time."""
    ordered = sorted(terms, key=lambda term: (term.start, term.end))
    return [(one, two) for one, two in pairwise(ordered) if two.start < one.end]


@settings(deadline=None, max_examples=30)
@given(steps=STEPS)
def test_no_two_lead_at_once_and_somebody_leads_in_the_end(
    steps: list[tuple[float, str, tuple[str, object]]],
) -> None:
    async def main() -> None:
        server, clock, terms = SmallServer(), FakeClock(), list[Term]()
        async with TaskGroup("election") as group:

            def candidate(name: str) -> Candidate:
                made = Candidate(name, server.handle, clock, terms)
                made.start(group)
                return made

            candidates = {name: candidate(name) for name in NAMES}
            for number, (seconds, name, (fault, value)) in enumerate(steps):
                await clock.advance(seconds)
                one = candidates[name]
                if fault == "kill":
                    one.kill()
                    candidates[name] = candidate(f"{name}{number}")  # the process that is started in its place
                elif fault == "stop":
                    await one.stop()
                    candidates[name] = candidate(f"{name}{number}")
                else:
                    setattr(one, fault, value)
                assert not overlaps(terms)
            for one in candidates.values():
                one.reachable = one.answered = True
                one.seconds_each_way = one.stop_seconds = 0.0
            await clock.advance(60)
            assert not overlaps(terms)
            leaders = [one for one in candidates.values() if one.elector.leading]
            assert len(leaders) == 1
            assert server.objects["leases", "kube-system", "test"]["spec"]["holderIdentity"] == leaders[0].name

    run(main())
