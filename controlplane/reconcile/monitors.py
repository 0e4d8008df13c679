"""Following many resources at once, whichever the server has: one metadata reflector each, as discovery changes.

The garbage collector and the quota controller cannot name what they watch: it is everything that is served. A resource
that a part of discovery could not report keeps its monitor (absence is never concluded from a failure); one that whole
discovery no longer has loses it.

Source: behaviour of kubernetes ``pkg/controller/garbagecollector`` (``Sync``) and ``pkg/controller/resourcequota``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import NamedTuple, Protocol

from controlplane.apimachinery.identity import GVK, GVR, GroupResource
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup, cancel_and_wait
from controlplane.base.waiting import sleep_or, within
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource, Discovered, discover
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.reflector import Reflector, Target

__all__ = ["Monitor", "MonitorSet"]

_FIRST_RETRY_SECONDS = 1.0

_SETTLE_SECONDS = 0.05
"""Between two readings of discovery that were asked for: definitions come in crowds, one reading serves them all."""

_SETTLE_READINGS = 10
"""And at least so many times as long as the last reading took, since it takes the longer the more is served: with 600
definitions, and more coming, readings were a third of the server's work."""
_SETTLE_LIMIT_SECONDS = 2.0

_FOLLOWED_A_TURN = 16
"""Monitors made between turns of the loop: half a millisecond."""

_LAST_EVENTS_SECONDS = 2.0
"""How long the watch of a resource that is no longer served may take to end by itself."""

log = logs.get(__name__)


class Monitor(Target, Protocol):
    """What becomes of one resource's objects. ``synced`` is set once its first state is whole."""

    synced: asyncio.Event

    def removed(self) -> None:
        """The resource is no longer served."""


class _Followed(NamedTuple):
    resource: APIResource
    monitor: Monitor
    reflector: Reflector
    task: asyncio.Task[None]


class MonitorSet:
    """Keeps a monitor for each served resource that is ``wanted``.

    Args:
        client: reads discovery and metadata as its user.
        monitor: makes the monitor of one resource.
        wanted: which resources are followed.
        period_seconds: discovery is read anew this often, and at once when ``look`` is called.
        on_failure: a reading failed. on_change: what kinds there are has changed.
    """

    def __init__(
        self,
        name: str,
        client: APIClient,
        *,
        wanted: Callable[[APIResource], bool],
        monitor: Callable[[APIResource], Monitor],
        clock: Clock,
        period_seconds: float = 30.0,
        on_failure: Callable[[], None] = lambda: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._name, self._client, self._clock = name, client, clock
        self._wanted, self._make, self._period, self._on_failure = wanted, monitor, period_seconds, on_failure
        self._on_change, self._complete = on_change, False
        self._running: dict[GroupResource, _Followed] = {}
        self._kinds: dict[GVK, APIResource] = {}
        self._resources: dict[GroupResource, APIResource] = {}
        self._look = asyncio.Event()
        self.begun = asyncio.Event()
        self._log = log.bind(monitors=name)

    def look(self) -> None:
        """Discovery may have changed."""
        self._look.set()

    def of_kind(self, gvk: GVK) -> APIResource | None:
        """The resource that serves a kind, as discovery had it last."""
        return self._kinds.get(gvk)

    def of_resource(self, gr: GroupResource) -> APIResource | None:
        """A resource as discovery had it last, in the version that its group prefers."""
        return self._resources.get(gr)

    def monitors(self) -> list[tuple[APIResource, Monitor]]:
        """What is followed now."""
        return [(resource, monitor) for resource, monitor, _, _ in self._running.values()]

    def whole(self) -> bool:
        """Whether nothing that exists can be missing: the last reading was complete, all have their first state."""
        return self._complete and all(monitor.synced.is_set() for _, monitor in self.monitors())

    async def synced(self) -> None:
        """Wait until all that discovery reported first have their first state."""
        await self.begun.wait()
        for _, monitor in self.monitors():
            await monitor.synced.wait()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with TaskGroup(self._name) as group:
            try:
                while True:
                    self._look.clear()
                    begun = self._clock.monotonic()
                    pause = self._period if await self._read(group) else _FIRST_RETRY_SECONDS
                    reading = self._clock.monotonic() - begun
                    settle = min(max(_SETTLE_SECONDS, _SETTLE_READINGS * reading), _SETTLE_LIMIT_SECONDS)
                    await self._clock.sleep(settle)
                    await sleep_or(self._clock, max(pause - settle, 0.0), self._look)
            finally:
                self._running.clear()
                self.begun.clear()

    async def _read(self, group: TaskGroup) -> bool:
        try:
            found = await discover(self._client)
        except (APIError, ClientError) as e:
            return self._unread(str(e))
        if not found.resources:
            return self._unread("it reports no resources")
        for gv, error in found.failed.items():
            self._log.warning(
                "discovery of a version failed; what is followed of it stays", version=str(gv), error=error
            )
        self._learn_kinds(found)
        await asyncio.sleep(0)  # with hundreds of resources each of these takes milliseconds
        wanted = self._select(found)
        await asyncio.sleep(0)
        await self._stop_absent(wanted, found)
        for gr, resource in wanted.items():
            if gr not in self._running:
                self._follow(group, resource)
                if len(self._running) % _FOLLOWED_A_TURN == 0:
                    await asyncio.sleep(0)
        self._complete = not found.failed
        self.begun.set()
        return self._complete

    def _unread(self, why: str) -> bool:
        self._log.warning("discovery could not be read; what is followed stays followed", error=why)
        self._complete = False
        self._on_failure()
        return False

    def _learn_kinds(self, found: Discovered) -> None:
        kinds = {GVK(r.gvr.group, r.gvr.version, r.kind): r for r in found.resources}
        for gvk, resource in self._kinds.items():
            if gvk.gv in found.failed:
                kinds.setdefault(gvk, resource)
        self._resources = {r.gvr.gr: r for r in reversed(list(kinds.values()))}
        changed, self._kinds = kinds.keys() != self._kinds.keys(), kinds
        if changed:
            self._on_change()

    def _select(self, found: Discovered) -> dict[GroupResource, APIResource]:
        """Each wanted resource once, in the version that its group prefers. One that is followed stays in its version
        while that is served."""
        wanted: dict[GroupResource, APIResource] = {}
        served: set[GVR] = set()
        for resource in found.resources:
            served.add(resource.gvr)
            if self._wanted(resource):
                wanted.setdefault(resource.gvr.gr, resource)
        for gr, (resource, _, _, _) in self._running.items():
            if gr in wanted and resource.gvr in served:
                wanted[gr] = resource
        return wanted

    async def _stop_absent(self, wanted: dict[GroupResource, APIResource], found: Discovered) -> None:
        failed_groups = {gv.group for gv in found.failed}
        for gr, (resource, monitor, reflector, task) in list(self._running.items()):
            now = wanted.get(gr)
            if now is not None and (now.gvr, now.namespaced) == (resource.gvr, resource.namespaced):
                continue
            if now is None and gr.group in failed_groups:
                continue
            del self._running[gr]
            with suppress(TimeoutError):  # the server ends its watch; what it brings till then counts
                await within(self._clock, _LAST_EVENTS_SECONDS, reflector.disconnected.wait())
            await cancel_and_wait([task])
            monitor.removed()
            self._log.info("resource is no longer followed", resource=str(gr))

    def _follow(self, group: TaskGroup, resource: APIResource) -> None:
        monitor = self._make(resource)
        reflector = Reflector(
            ResourceClient(self._client, resource.gvr, namespaced=resource.namespaced),
            monitor,
            namespace="",
            label_selector="",
            field_selector="",
            metadata_only=True,
            clock=self._clock,
            random=Random(),  # noqa: S311 - jitter, no secret
        )
        task = group.start(reflector.run(), name=str(resource.gvr.gr))
        self._running[resource.gvr.gr] = _Followed(resource, monitor, reflector, task)
