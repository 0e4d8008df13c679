"""Candidates of an election in tests: each with a way to the server of its own, which can be cut or made slow."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.errors import Unreachable
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Handler, Request, Response
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.leader import LeaderElector
from controlplane.testing.clock import FakeClock

__all__ = ["LEASE", "LEASES", "Candidate", "Term"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
LEASE = Key("kube-system", "test")


@dataclass
class Term:
    """One time in office: ``end`` is when the work had ended."""

    who: str
    start: float
    end: float = float("inf")


@dataclass
class Candidate:
    """One process that stands for election until it is stopped or killed.

    ``reachable``: requests get through. ``answered``: so do the answers. ``seconds_each_way`` delays both.
    ``stop_seconds``: how long its work takes to end once cancelled.
    """

    name: str
    handler: Handler
    clock: FakeClock
    terms: list[Term]
    reachable: bool = True
    answered: bool = True
    seconds_each_way: float = 0.0
    stop_seconds: float = 0.0
    killed: bool = False
    task: asyncio.Task[None] | None = None
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        client = LoopbackClient(
            self._way, UserInfo(name=self.name, groups=(MASTERS_GROUP,)), clock=self.clock, retries=0
        )
        self.elector = LeaderElector(
            ResourceClient(client, LEASES, namespaced=True),
            LEASE,
            self.name,
            clock=self.clock,
            random=Random(self.name),
        )

    def start(self, group: TaskGroup) -> None:
        self.task = group.start(self._stand(), name=self.name)

    async def stop(self) -> None:
        """End it in good order."""
        assert self.task is not None
        self.task.cancel()
        await self.clock.settle()

    def kill(self) -> None:
        """Take the process away: nothing of it runs or is sent any more, so its term ends here."""
        self.killed, self.reachable = True, False
        for term in self.terms:
            if term.who == self.name:
                term.end = min(term.end, self.clock.elapsed)

    async def _stand(self) -> None:
        while True:
            await self.elector.lead(self._work)

    async def _work(self) -> None:
        if self.killed:
            return
        term = Term(self.name, self.clock.elapsed)
        self.terms.append(term)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if self.stop_seconds:
                await self.clock.sleep(self.stop_seconds)
            term.end = min(term.end, self.clock.elapsed)

    async def _way(self, request: Request) -> Response:
        self.requests.append(request)
        await self._delay()
        if not self.reachable:
            raise Unreachable("cut", sent=False)
        response = await self.handler(request)
        await self._delay()
        if not self.answered or not self.reachable:
            raise Unreachable("the answer was lost", sent=True)
        return response

    async def _delay(self) -> None:
        if self.seconds_each_way:
            await self.clock.sleep(self.seconds_each_way)
