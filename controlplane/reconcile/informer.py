"""Informers: one resource in memory, kept up to date, and whoever wants to know told of each change.

Handlers get ``(old, new)``: ``(None, new)`` for what was not there, ``(old, new)`` for a change, ``(last, None)`` for
what is gone, ``last`` being its last state if the server sent it, else the last one known. An object deleted and made
again while nobody looked is reported as gone, then as new (its uid tells).

Guarantees (tests/unit/reconcile/test_informer.py):
  faithful    only what the server said is reported; after a lost history, exactly the difference to what was known
  ordered     an object's states are reported in the order of their revisions, none twice
  current     the store already shows a change when its handlers hear of it
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.resources import ResourceClient
from controlplane.client.watch import WatchEvent
from controlplane.reconcile.reflector import Reflector
from controlplane.reconcile.store import IndexFunction, ObjectStore

__all__ = ["EventHandler", "Informer"]

_OBJECTS_PER_TURN = 128
"""Objects compared and reported before others get a turn of the loop: about 1 ms with a few cheap handlers."""

EventHandler = Callable[[Obj | None, Obj | None], None]
"""Called on the loop with (old, new). It must be quick, must not change the objects, and must not raise: an error ends
the informer, and with it its manager."""


class Informer:
    """Follows one resource. ``synced`` is set once the first whole state has been reported.

    ``metadata_only`` keeps apiVersion, kind and metadata alone, and asks the server for no more.
    """

    def __init__(
        self,
        resource: ResourceClient,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        indexers: Mapping[str, IndexFunction] | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.gvr: GVR = resource.gvr
        self.store = ObjectStore(indexers)
        self.synced = asyncio.Event()
        self._handlers: list[EventHandler] = []
        self._loading: dict[Key, Obj] = {}
        self._running = False
        self._reflector = Reflector(
            resource,
            self,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
            clock=clock if clock is not None else SystemClock(),
            random=random if random is not None else Random(),  # noqa: S311 - jitter, no secret
        )

    @property
    def name(self) -> str:
        """The resource, for messages: ``namespaces``, ``leases.coordination.k8s.io``."""
        return str(self.gvr.gr)

    def add_handler(self, handler: EventHandler) -> None:
        """Report every change to ``handler``, from the first state on.

        Raises:
            RuntimeError: the informer runs already, so the handler would miss what has been reported.
        """
        if self._running:
            raise RuntimeError(f"informer {self.name}: handlers are added before it runs")
        self._handlers.append(handler)

    async def run(self) -> None:
        """Follow the resource until cancelled."""
        if self._running:
            raise RuntimeError(f"informer {self.name} runs already")
        self._running = True
        await self._reflector.run()

    # -- what the reflector learns ---------------------------------------------------------------------------------

    def begin_load(self) -> None:
        """A whole state follows."""
        self._loading = {}

    def load(self, obj: Obj) -> None:
        """This is part of it."""
        self._loading[meta.key_of(obj)] = obj

    def unload(self, obj: Obj) -> None:
        """This was part of it."""
        self._loading.pop(meta.key_of(obj), None)

    async def end_load(self) -> None:
        """Bring the store to the loaded state, reporting the difference."""
        objects, self._loading = self._loading, {}
        for done, (key, obj) in enumerate(objects.items(), start=1):
            self._put(key, obj)
            if done % _OBJECTS_PER_TURN == 0:
                await asyncio.sleep(0)
        for done, key in enumerate(self.store.keys_beside(objects), start=1):
            last = self.store.remove(key)
            self._report(last, None)
            if done % _OBJECTS_PER_TURN == 0:
                await asyncio.sleep(0)
        self.synced.set()

    def apply(self, event: WatchEvent) -> None:
        """Bring one change into the store and report it, unless it is known."""
        key = meta.key_of(event.object)
        if event.type != "DELETED":
            self._put(key, event.object)
        elif self.store.remove(key) is not None:
            self._report(event.object, None)

    def _put(self, key: Key, obj: Obj) -> None:
        old = self.store.get(key)
        if old is None:
            self.store.put(key, obj)
            self._report(None, obj)
        elif meta.uid(old) != meta.uid(obj):
            self.store.remove(key)
            self._report(old, None)
            self.store.put(key, obj)
            self._report(None, obj)
        elif meta.resource_version(old) != meta.resource_version(obj):
            self.store.put(key, obj)
            self._report(old, obj)

    def _report(self, old: Obj | None, new: Obj | None) -> None:
        for handler in self._handlers:
            handler(old, new)
