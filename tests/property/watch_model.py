"""The model of the watch contract: what happened, and what a watch of it has to say.

The model knows nothing of rings, channels or stores. ``History`` is the list of acknowledged writes; from it follows
what every watch must have delivered. ``Client`` is a watcher as a client-go reflector is one: it watches, resumes where
it was when its stream ends, and lists anew when it is told that its revision has expired.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Key
from controlplane.storage.api import Storage, WatchOptions
from tests.mirrors import JSON, MemorySink, selecting

__all__ = ["Client", "Event", "History", "Interest", "Segment", "Write"]


class Event(NamedTuple):
    """One event as a client sees it: ``version`` is the object's data, by which states are told apart."""

    kind: str
    key: Key
    revision: int
    version: str


class Write(NamedTuple):
    """One acknowledged write; ``labels`` None is a deletion."""

    revision: int
    key: Key
    labels: str | None
    version: str


class Interest(NamedTuple):
    """What a client watches: a namespace (None is all), and objects whose label ``x`` is this (``""`` is any)."""

    namespace: str | None
    label: str

    def admits(self, write: Write | None) -> bool:
        return (
            write is not None
            and write.labels is not None
            and self.namespace in (None, write.key.namespace)
            and self.label in ("", write.labels)
        )


class History:
    """All acknowledged writes."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    def add(self, write: Write) -> None:
        self.writes.append(write)

    def ordered(self) -> list[Write]:
        ordered = sorted(self.writes)
        revisions = [write.revision for write in ordered]
        assert revisions == sorted(set(revisions)), "two writes have one revision"
        return ordered

    def state_at(self, revision: int, interest: Interest) -> dict[Key, tuple[int, str]]:
        """Key to (revision, version) of what there was."""
        latest = {write.key: write for write in self.ordered() if write.revision <= revision}
        return {key: (write.revision, write.version) for key, write in latest.items() if interest.admits(write)}

    def events_after(self, revision: int, interest: Interest) -> list[Event]:
        """What a watch from ``revision`` has to say."""
        before: dict[Key, Write] = {}
        events: list[Event] = []
        for write in self.ordered():
            old = before.get(write.key)
            before[write.key] = write
            if write.revision <= revision:
                continue
            was, now = interest.admits(old), interest.admits(write)
            if now:
                events.append(Event("MODIFIED" if was else "ADDED", write.key, write.revision, write.version))
            elif was and old is not None:
                events.append(Event("DELETED", write.key, write.revision, old.version))
        return events


@dataclass
class Segment:
    """One stream of a client: where it began (None: with the state), its sink, how it ended."""

    start: int | None
    sink: MemorySink
    task: asyncio.Task[None] | None = None
    events: list[Event] = field(default_factory=list)

    def read(self) -> None:
        """Decode what has come."""
        self.events = [_event(loads(line)) for chunk in self.sink.chunks for line in chunk.payload.splitlines()]

    @property
    def position(self) -> int | None:
        """The revision to resume from; None before the first one is known."""
        told = [event.revision for event in self.events if event.kind != "ERROR"]
        whole = self.start is not None or any(event.kind == "BOOKMARK" for event in self.events)
        return (told[-1] if told else self.start) if whole else None

    @property
    def expired(self) -> bool:
        return any(event.kind == "ERROR" and event.revision == 410 for event in self.events)

    def check(self, history: History, interest: Interest, *, complete: bool) -> None:
        """Compare with the model.

        The state first is exactly that of its revision, in key order; then come exactly the events after it, in order,
        none missing before any bookmark, and (``complete``) none missing at the end.
        """
        events = list(self.events)
        start = self.start
        if start is None:
            end = next((n for n, event in enumerate(events) if event.kind == "BOOKMARK"), None)
            if end is None:
                assert not complete, "the state has not come"
                return
            state, start, events = events[:end], events[end].revision, events[end + 1 :]
            assert {e.key: (e.revision, e.version) for e in state} == history.state_at(start, interest)
            assert [e.key for e in state] == sorted(e.key for e in state)
            assert all(e.kind == "ADDED" for e in state)
        expected = history.events_after(start, interest)
        delivered: list[Event] = []
        for event in events:
            if event.kind == "BOOKMARK":
                due = [e for e in expected if e.revision <= event.revision]
                assert delivered == due, f"a bookmark of {event.revision} without all before it"
            elif event.kind != "ERROR":
                delivered.append(event)
        if complete:
            assert delivered == expected
        else:
            assert delivered == expected[: len(delivered)]


class Client:
    """``segments``: all its streams, the last one being open unless ``ended``."""

    def __init__(self, interest: Interest, *, start: int | None) -> None:
        self.interest = interest
        self.segments: list[Segment] = []
        self._start = start

    @property
    def current(self) -> Segment:
        return self.segments[-1]

    @property
    def streaming(self) -> bool:
        return bool(self.segments) and self.current.task is not None and not self.current.task.done()

    async def connect(self, storage: Storage) -> None:
        """Open the next stream, if there is none."""
        if self.streaming:
            return
        start = self._start
        if self.segments:
            self.current.read()
            start = None if self.current.expired else self.current.position
        segment = Segment(start, MemorySink())
        options = (
            WatchOptions(initial_events=True, end_bookmark=True, bookmarks=True)
            if start is None
            else WatchOptions(revision=start, bookmarks=True)
        )
        predicate = selecting(f"x={self.interest.label}" if self.interest.label else "")
        run = await storage.watch(self.interest.namespace, predicate, JSON, options)
        segment.task = asyncio.ensure_future(_run(run, segment.sink))
        self.segments.append(segment)

    async def disconnect(self) -> None:
        """Hang up."""
        if self.segments and self.current.task is not None:
            self.current.sink.close()
            await self.current.task


async def _run(run: object, sink: MemorySink) -> None:
    assert callable(run)
    await run(sink)


def _event(line: dict[str, dict[str, dict[str, str]]]) -> Event:
    kind, obj = str(line["type"]), line["object"]
    if kind == "ERROR":
        return Event(kind, Key("", ""), int(str(obj["code"])), str(obj.get("message", "")))
    metadata = obj["metadata"]
    key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
    return Event(kind, key, int(metadata["resourceVersion"]), obj.get("data", {}).get("v", ""))
