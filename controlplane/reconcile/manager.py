"""The manager: runs informers, controllers and leader-elected controllers, in this order, and stops them in reverse.

It runs until it is cancelled, or until something of its own ends unasked: then all stop, and that error is raised.
Losing the lease is not an error: what was leader-elected stops, and the manager stands for election again.

Source: the ordered groups of kubernetes-sigs/controller-runtime ``pkg/manager``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, NoReturn

from controlplane.base import logs
from controlplane.base.tasks import TaskGroup
from controlplane.reconcile.controller import Runnable
from controlplane.reconcile.informer import Informer
from controlplane.reconcile.leader import LeaderElector

__all__ = ["Condition", "Manager"]

log = logs.get(__name__)


class Condition(NamedTuple):
    """One line of readiness. ``message`` says what is waited for, ``""`` if ready."""

    name: str
    ready: bool
    message: str


class Manager:
    """What is added before ``run`` is run by it. ``elector`` is needed for leader-elected controllers; it stands for
    election once ``stand_after`` is set (None: at once)."""

    def __init__(
        self,
        name: str = "manager",
        *,
        elector: LeaderElector | None = None,
        stand_after: asyncio.Event | None = None,
    ) -> None:
        self._name, self._elector, self._stand_after = name, elector, stand_after
        self._informers: dict[int, Informer] = {}
        self._controllers: dict[str, Runnable] = {}
        self._elected: dict[str, Runnable] = {}
        self._running = False

    def add_informer(self, informer: Informer) -> None:
        """Run this informer, once however often it is added."""
        self._refuse_if_running(informer.name)
        self._informers[id(informer)] = informer

    def add(self, controller: Runnable, *, leader_elected: bool = False) -> None:
        """Run this controller, and the informers that it watches.

        Raises:
            ValueError: a controller of this name is there, or there is no elector to be elected by.
        """
        self._refuse_if_running(controller.name)
        if controller.name in self._controllers or controller.name in self._elected:
            raise ValueError(f"manager {self._name!r}: controller {controller.name!r} is added twice")
        if leader_elected and self._elector is None:
            raise ValueError(f"manager {self._name!r}: {controller.name!r} is leader-elected, and there is no elector")
        (self._elected if leader_elected else self._controllers)[controller.name] = controller
        for watch in controller.watches:
            self.add_informer(watch.informer)

    @property
    def ready(self) -> bool:
        """Whether all conditions are."""
        return all(condition.ready for condition in self.conditions())

    def conditions(self) -> list[Condition]:
        """Readiness, line by line. A candidate that waits for its election is ready."""
        lines = [
            _condition(f"informer/{informer.name}", informer.synced.is_set(), "waits for its first state")
            for informer in self._informers.values()
        ]
        lines += [
            _condition(f"controller/{controller.name}", controller.working.is_set(), "waits for its informers")
            for controller in self._controllers.values()
        ]
        if self._elector is not None:
            lines += [
                _condition(
                    f"controller/{controller.name}",
                    controller.working.is_set() or not self._elector.leading,
                    "waits for its informers",
                )
                for controller in self._elected.values()
            ]
        return lines

    async def run(self) -> None:
        """Run all until cancelled.

        Raises:
            RuntimeError: something ended by itself. Whatever something failed with.
        """
        self._refuse_if_running("run")
        self._running = True
        async with TaskGroup(f"{self._name}.informers") as informers:
            for informer in self._informers.values():
                informers.start(_never_returns(informer.run, f"informer {informer.name}"), name=informer.name)
            async with TaskGroup(f"{self._name}.controllers") as controllers:
                _start_all(controllers, self._controllers.values())
                if self._elector is not None and self._elected:
                    await self._stand(self._elector)
                await asyncio.get_running_loop().create_future()

    async def _stand(self, elector: LeaderElector) -> NoReturn:
        if self._stand_after is not None:
            await self._stand_after.wait()
        while True:
            await elector.lead(self._run_elected)
            log.warning("leadership lost, standing again", manager=self._name, lease=str(elector.key))

    async def _run_elected(self) -> None:
        async with TaskGroup(f"{self._name}.elected") as elected:
            _start_all(elected, self._elected.values())
            await asyncio.get_running_loop().create_future()

    def _refuse_if_running(self, what: str) -> None:
        if self._running:
            raise RuntimeError(f"manager {self._name!r} runs already; refused {what!r}")


def _start_all(group: TaskGroup, controllers: Iterable[Runnable]) -> None:
    for controller in controllers:
        group.start(_never_returns(controller.run, f"controller {controller.name}"), name=controller.name)


async def _never_returns(run: Callable[[], Coroutine[Any, Any, None]], what: str) -> NoReturn:
    await run()
    raise RuntimeError(f"{what} ended by itself")


def _condition(name: str, ready: bool, waiting: str) -> Condition:  # noqa: FBT001
    return Condition(name, ready, "" if ready else waiting)
