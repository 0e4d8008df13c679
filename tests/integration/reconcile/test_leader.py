"""Leader election over a whole control plane: real leases, real conflicts, virtual time for the candidates."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from controlplane.apimachinery.identity import Obj
from controlplane.base.tasks import TaskGroup
from controlplane.client.resources import ResourceClient
from controlplane.generic.controllers import SERVER_USER
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.integration.plane import running_plane
from tests.unit.reconcile.candidates import LEASE, LEASES, Candidate, Term


def test_three_candidates_hand_a_real_lease_on(tmp_path: Path) -> None:
    async def main() -> None:
        clock, terms = FakeClock(), list[Term]()
        async with running_plane(tmp_path) as plane:
            loopback = plane.running.loopback(SERVER_USER)
            leases = ResourceClient(loopback, LEASES, namespaced=True)

            async def spec() -> Obj:
                stored: Obj = (await leases.get(LEASE))["spec"]
                return stored

            async with TaskGroup("election") as group, clock:
                candidates = [Candidate(name, loopback._handler, clock, terms) for name in ("a", "b", "c")]
                for candidate in candidates:
                    candidate.start(group)
                await clock.advance(1)
                assert len(terms) == 1
                assert (await spec())["holderIdentity"] == terms[0].who
                by_name = {candidate.name: candidate for candidate in candidates}

                await by_name[terms[0].who].stop()
                assert (await spec())["holderIdentity"] == ""
                await clock.advance(5)
                assert len(terms) == 2

                by_name[terms[1].who].kill()
                killed_at = clock.elapsed
                await clock.advance(25)
                assert len(terms) == 3
                assert terms[2].start - killed_at > 12
                assert await spec() | {"acquireTime": "", "renewTime": ""} == {
                    "holderIdentity": terms[2].who,
                    "leaseDurationSeconds": 15,
                    "acquireTime": "",
                    "renewTime": "",
                    "leaseTransitions": 2,
                }
            assert {term.who for term in terms} == {"a", "b", "c"}
            assert all(one.end <= two.start for one, two in pairwise(terms))

    run(main())
