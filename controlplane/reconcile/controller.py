"""Controllers: keys that want work, and the function that does it.

``async reconcile(key) -> Result | None`` is level-triggered: it reads the state, compares, acts; which event brought it
about it cannot know. Returning is success; raising is retry with backoff; ``Terminal`` is logged, counted and not
retried; ``Result(requeue_after=…)`` is the only timer.

Events that come while the controller does not run are not kept: when it starts, all keys of all its watches want work.

Source: the contract of kubernetes-sigs/controller-runtime ``pkg/reconcile``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.tasks import TaskGroup
from controlplane.client.errors import ClientError
from controlplane.reconcile.informer import EventHandler, Informer
from controlplane.reconcile.metrics import RECONCILES
from controlplane.reconcile.queue import WorkQueue

__all__ = ["Controller", "Result", "Resync", "Runnable", "Terminal", "Watch", "own_key"]

_KEYS_PER_TURN = 256
"""Keys queued at the start before others get a turn of the loop."""

K = TypeVar("K", bound=Hashable)

log = logs.get(__name__)


class Terminal(Exception):
    """Raised by a reconcile for what trying again cannot mend."""


class Result(NamedTuple):
    """What a successful reconcile may ask for: to be called again ``requeue_after`` seconds from now (0: no)."""

    requeue_after: float = 0.0


class Watch(NamedTuple, Generic[K]):
    """Changes of ``informer`` want work on ``keys(old, new)``; as for its handlers, either may be None."""

    informer: Informer
    keys: Callable[[Obj | None, Obj | None], Iterable[K]]


class Resync(NamedTuple, Generic[K]):
    """Work on what ``wanted()`` gives is wanted at the start and every ``seconds``, whatever happens."""

    seconds: float
    wanted: Callable[[], Iterable[K]]


class Runnable(Protocol):
    """What a manager runs: a ``Controller``, or what is made of several. ``watches`` are the informers that it needs;
    ``working`` is set while it works; ``run`` ends only by being cancelled, and may be called again then."""

    @property
    def name(self) -> str: ...
    @property
    def watches(self) -> Sequence[Watch[Any]]: ...
    @property
    def working(self) -> asyncio.Event: ...
    async def run(self) -> None: ...


def own_key(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
    """The ``keys`` of a watch whose objects are what is reconciled."""
    obj = new if new is not None else old
    return () if obj is None else (meta.key_of(obj),)


class Controller(Generic[K]):
    """One reconcile loop. ``working`` is set while its workers run.

    Args:
        name: in logs, metrics, conditions.
        workers: how many keys are worked on at a time.
    """

    def __init__(
        self,
        name: str,
        *,
        watches: Sequence[Watch[K]],
        reconcile: Callable[[K], Awaitable[Result | None]],
        workers: int = 1,
        resync: Resync[K] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name, self.watches = name, tuple(watches)
        self.working = asyncio.Event()
        self._reconcile, self._workers, self._resync = reconcile, workers, resync
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._queue: WorkQueue[K] | None = None
        self._log = log.bind(controller=name)
        for watch in self.watches:
            watch.informer.add_handler(self._handler(watch.keys))

    def add(self, key: K) -> None:
        """Want work on a key, beside what the watches bring. Not kept while the controller does not run."""
        if self._queue is not None:
            self._queue.add(key)

    async def run(self) -> None:
        """Wait for the watches' first state, then work until cancelled. May be run again after that."""
        for watch in self.watches:
            await watch.informer.synced.wait()
        queue = self._queue = WorkQueue(self.name, self._clock)
        try:
            async with TaskGroup(self.name) as group:
                group.start(queue.run(), name="delays")
                for number in range(self._workers):
                    group.start(self._work(queue), name=f"worker-{number}")
                self.working.set()
                await self._queue_all(queue)
                await self._queue_again(queue)
        finally:
            self.working.clear()
            self._queue = None
            queue.discard()

    def _handler(self, keys: Callable[[Obj | None, Obj | None], Iterable[K]]) -> EventHandler:
        def handle(old: Obj | None, new: Obj | None) -> None:
            if self._queue is not None:
                for key in keys(old, new):
                    self._queue.add(key)

        return handle

    async def _queue_all(self, queue: WorkQueue[K]) -> None:
        done = 0
        for watch in self.watches:
            for obj in watch.informer.store:
                for key in watch.keys(None, obj):
                    queue.add(key)
                done += 1
                if done % _KEYS_PER_TURN == 0:
                    await asyncio.sleep(0)

    async def _queue_again(self, queue: WorkQueue[K]) -> None:
        if self._resync is None:
            await asyncio.get_running_loop().create_future()  # nothing to do but to be cancelled
            return
        while True:
            for key in self._resync.wanted():
                queue.add(key)
            await self._clock.sleep(self._resync.seconds)

    async def _work(self, queue: WorkQueue[K]) -> None:
        while True:
            key = await queue.get()
            try:
                result = await self._reconcile_one(queue, key)
            finally:
                queue.done(key)
            RECONCILES.labels_cached((self.name, result)).inc()

    async def _reconcile_one(self, queue: WorkQueue[K], key: K) -> str:
        """Reconcile one key and say how it ended, in the metric's words."""
        try:
            result = await self._reconcile(key)
        except Terminal as e:
            self._log.error("reconcile failed for good", key=str(key), error=e)
            queue.forget(key)
            return "terminal"
        except (APIError, ClientError) as e:
            queue.add_rate_limited(key)
            self._log.warning("reconcile failed, trying again", key=str(key), error=e, failures=queue.failures(key))
            return "error"
        except Exception:  # noqa: BLE001 - one key's failure must not stop the others; it is logged and counted
            queue.add_rate_limited(key)
            self._log.exception("reconcile failed, trying again", key=str(key), failures=queue.failures(key))
            return "error"
        queue.forget(key)
        if result is not None and result.requeue_after > 0:
            queue.add_after(key, result.requeue_after)
            return "requeue_after"
        return "success"
