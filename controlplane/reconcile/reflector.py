"""Following one resource of a server: the present state, then every change, for as long as it runs.

The state comes by a streaming list (``sendInitialEvents``) where the server has it, else by a paged list; changes come
by one watch, which is resumed where it ended. Only when the server has forgotten that point (410) is the state read
anew. Failures are waited out with growing pauses; nothing but cancellation ends it.

Knows nothing of stores and handlers: what it learns goes to a ``Target``.

A revision may hold several events (a foreign transaction), and a broken stream may have carried only some of them. So a
watch resumes before the revision of its last event, not after it, until a bookmark or a later revision shows that one
to be whole; what comes twice is the Target's to recognise by its resourceVersion.

Source: behaviour of kubernetes/client-go ``tools/cache`` (Reflector), and KEP-3157 for the streaming list.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Protocol, runtime_checkable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.aside import free
from controlplane.base.clock import Clock
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.client.watch import WatchEvent, WatchStream
from controlplane.reconcile.timing import Backoff

__all__ = ["INITIAL_EVENTS_END", "Reflector", "SkipsUnread", "Target"]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which a streaming list's initial events have all been sent."""

_WATCH_SECONDS = (300, 600)
"""A watch is asked to last between these, at random, so that watches do not all end together."""

_SHORT_SECONDS = 1.0
"""A watch that ends sooner and brought nothing is taken for a failure."""

log = logs.get(__name__)


class Target(Protocol):
    """Where a reflector's findings go."""

    def begin_load(self) -> None:
        """The whole state follows, object by object. A load that fails on the way is begun again."""

    def load(self, obj: Obj) -> None:
        """This is part of the state."""

    def unload(self, obj: Obj) -> None:
        """This was part of the state, and is no more."""

    async def end_load(self) -> None:
        """The state is whole: what has not been loaded is not there."""

    def apply(self, event: WatchEvent) -> None:
        """This has changed (ADDED, MODIFIED or DELETED); it may have been reported before."""


@runtime_checkable
class SkipsUnread(Protocol):
    """A target that knows of most events, by their bytes, that they change nothing for it."""

    def skips(self, line: bytes) -> bool:
        """Whether ``apply`` would do nothing with this event, as a line of JSON; False: it must be read."""


class _NotStreamed(Exception):
    """The server does not stream lists."""


class Reflector:
    """Follows ``resource`` (in one namespace or all, by selectors) for a ``Target``."""

    def __init__(
        self,
        resource: ResourceClient,
        target: Target,
        *,
        namespace: str,
        label_selector: str,
        field_selector: str,
        metadata_only: bool,
        clock: Clock,
        random: Random,
    ) -> None:
        self._resource, self._target = resource, target
        self._namespace, self._labels, self._fields = namespace, label_selector, field_selector
        self._metadata_only, self._ask_for_metadata = metadata_only, metadata_only
        self._clock, self._random = clock, random
        self._streams_lists = True
        self.disconnected = asyncio.Event()
        """Set while no watch is open: whatever the last one brought has reached the target."""
        self.disconnected.set()
        self._resume: str | None = None
        self._current = ""
        self._events = 0
        self._log = log.bind(resource=str(resource.gvr.gr), namespace=namespace)
        self._backoff = Backoff(clock, random, first_seconds=0.8, limit_seconds=30, jitter=1.0, reset_seconds=120)

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            started, self._events = self._clock.monotonic(), 0
            try:
                await (self._load() if self._resume is None else self._follow(self._resume))
            except _NotStreamed:
                self._streams_lists = False
                continue
            except APIError as e:
                if self._adapted(e):
                    continue
                failure: Exception | None = e
            except ClientError as e:
                failure = e
            else:
                failure = None
                if self._events or self._clock.monotonic() - started >= _SHORT_SECONDS:
                    continue
            pause = self._backoff.next_seconds()
            self._log.warning("watch ended, trying again", error=failure or "ended at once", pause_seconds=pause)
            await self._clock.sleep(pause)

    def _adapted(self, error: APIError) -> bool:
        """Learn from a refusal how to ask. Returns whether to ask again at once."""
        if error.code == 406 and self._ask_for_metadata:
            self._ask_for_metadata = False
            return True
        if error.code in (400, 422) and self._resume is None and self._streams_lists:
            self._streams_lists = False
            return True
        if error.code == 410 or _too_large(error):
            self._resume = None  # read the state anew, after a pause: a server that forgets at once is not hammered
        return False

    async def _load(self) -> None:
        """Learn the whole state, then follow the changes."""
        if self._streams_lists:
            await self._load_by_watch()
        else:
            await self._load_by_list()

    async def _load_by_watch(self) -> None:
        self._target.begin_load()
        async with self._open(send_initial_events=True) as events:
            async for event in events:
                if event.type == "DELETED":
                    self._target.unload(event.object)
                elif event.type != "BOOKMARK":
                    self._load_one(event.object)
                elif meta.annotations(event.object).get(INITIAL_EVENTS_END) == "true":
                    await self._loaded(meta.resource_version(event.object))
                    await self._consume(events)
                    return
                else:
                    break
        raise _NotStreamed

    async def _load_by_list(self) -> None:
        try:
            version = await self._list(page_items=500)
        except APIError as e:
            if e.code != 410:
                raise
            version = await self._list(page_items=0)  # the pages' snapshot was forgotten: all in one
        await self._loaded(version)
        await self._follow(version)

    async def _list(self, *, page_items: int) -> str:
        self._target.begin_load()
        version = ""
        async for page in self._resource.pages(
            self._namespace,
            label_selector=self._labels,
            field_selector=self._fields,
            page_items=page_items,
            metadata_only=self._ask_for_metadata,
        ):
            version = page.resource_version
            for item in page.items:
                self._load_one(item)
        return version

    def _load_one(self, obj: Obj) -> None:
        self._events += 1
        self._target.load(self._reduced(obj))

    async def _loaded(self, version: str) -> None:
        self._resume = self._current = version
        await self._target.end_load()

    async def _follow(self, version: str) -> None:
        """Take changes after ``version`` until the server ends the watch."""
        async with self._open(resource_version=version) as events:
            await self._consume(events)

    async def _consume(self, events: WatchStream) -> None:
        """What is skipped does not move the point to resume at, which then is a little older, until a bookmark does."""
        events.skips = self._target.skips if isinstance(self._target, SkipsUnread) else None
        following: WatchEvent | None
        async for event in events:
            following = event
            if events.is_long:
                self._take(event)
                left = [event]
                del event, following
                free(left)
                continue
            while following is not None:
                self._take(following)
                following = events.next_nowait()

    def _take(self, event: WatchEvent) -> None:
        self._events += 1
        version = meta.resource_version(event.object)
        if event.type == "BOOKMARK":
            self._resume = self._current = version
            return
        if version != self._current:
            self._resume, self._current = self._current, version
        reduced = self._reduced(event.object)
        self._target.apply(event if reduced is event.object else WatchEvent(event.type, reduced))

    @asynccontextmanager
    async def _open(
        self, *, resource_version: str = "", send_initial_events: bool = False
    ) -> AsyncIterator[WatchStream]:
        opened = self._resource.watch(
            self._namespace,
            resource_version=resource_version,
            label_selector=self._labels,
            field_selector=self._fields,
            send_initial_events=send_initial_events,
            timeout_seconds=self._random.randrange(*_WATCH_SECONDS),
            metadata_only=self._ask_for_metadata,
        )
        async with opened as events:
            self.disconnected.clear()
            try:
                yield events
            finally:
                self.disconnected.set()

    def _reduced(self, obj: Obj) -> Obj:
        """The object as it is kept: without spec and status where only metadata is wanted, whoever cut them off."""
        if not self._metadata_only or obj.get("kind") == "PartialObjectMetadata":
            return obj
        return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": meta.metadata(obj)}


def _too_large(error: APIError) -> bool:
    """The server has never seen this revision: it was restored from an older state, or is another one."""
    causes = error.details.get("causes") or ()
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)
