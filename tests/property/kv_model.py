"""A small model of a revisioned store, and histories to play against a real one and the model side by side.

Works for any KV: it compares relative revisions only where a backend is free (the embedded store gives each write the
next number; etcd too, while nobody else writes). ``play`` opens, plays and verifies one history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from controlplane.storage.errors import Compacted
from controlplane.storage.kv.api import ABSENT, KV, Event, KeyValue, TxnResult, prefix_end

__all__ = ["HISTORIES", "Model", "Step", "play"]

PREFIX = b"/model/"
KEYS = tuple(PREFIX + name for name in (b"a", b"a/b", b"a0", b"b\x00", b"b\xff", b"c"))


@dataclass(frozen=True)
class Put:
    """``hit``: expect what is stored (else: something stale)."""

    key: bytes
    value: bytes
    hit: bool


@dataclass(frozen=True)
class Delete:
    key: bytes
    hit: bool


@dataclass(frozen=True)
class Group:
    """Puts issued at once."""

    puts: tuple[Put, ...]


@dataclass(frozen=True)
class ReadPast:
    """``back``: writes ago."""

    back: int
    limit: int


@dataclass(frozen=True)
class Compact:
    back: int


@dataclass(frozen=True)
class WatchPast:
    back: int
    key: bytes
    prev: bool


@dataclass(frozen=True)
class Reopen:
    pass


Step = Put | Delete | Group | ReadPast | Compact | WatchPast | Reopen

_keys = st.sampled_from(KEYS)
_values = st.binary(max_size=8) | st.just(bytes(5_000))
_hit = st.integers(0, 4).map(bool)
_puts = st.builds(Put, _keys, _values, _hit)
_back = st.integers(0, 30)
HISTORIES = st.lists(
    st.one_of(
        _puts,
        _puts,
        st.builds(Delete, _keys, _hit),
        st.builds(Group, st.lists(_puts, min_size=2, max_size=10).map(tuple)),
        st.builds(ReadPast, _back, st.integers(0, 4)),
        st.builds(Compact, _back),
        st.builds(WatchPast, _back, st.sampled_from((PREFIX, *KEYS)), st.booleans()),
        st.builds(Reopen),
    ),
    max_size=60,
)
"""Random histories."""


@dataclass
class Model:
    """What the store should hold: every write in order, and the floor."""

    live: dict[bytes, KeyValue] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    first: int = 0
    revision: int = 0
    compacted: int = 0

    def expectation(self, key: bytes, *, hit: bool) -> int:
        """A revision to expect: the stored one, or one that is wrong."""
        stored = self.live[key].mod_revision if key in self.live else ABSENT
        return stored if hit else stored - 1 if stored > 1 else self.revision + 7

    def put(self, put: Put, expect: int) -> TxnResult:
        old = self.live.get(put.key)
        if expect != (old.mod_revision if old else ABSENT):
            return TxnResult(False, self.revision, old)
        self.revision += 1
        created, version = (old.create_revision, old.version + 1) if old else (self.revision, 1)
        new = self.live[put.key] = KeyValue(put.key, put.value, created, self.revision, version)
        self.events.append(Event(put.key, self.revision, new, old))
        return TxnResult(True, self.revision, None)

    def delete(self, key: bytes, expect: int) -> TxnResult:
        old = self.live.get(key)
        if old is None or expect != old.mod_revision:
            return TxnResult(False, self.revision, old)
        self.revision += 1
        del self.live[key]
        self.events.append(Event(key, self.revision, None, old))
        return TxnResult(True, self.revision, old)

    def at(self, revision: int) -> list[KeyValue]:
        """The state as of a revision, ascending by key."""
        state: dict[bytes, KeyValue] = {}
        for event in self.events:
            if event.mod_revision <= revision:
                if event.kv is None:
                    del state[event.key]
                else:
                    state[event.key] = event.kv
        return [state[key] for key in sorted(state)]

    def back(self, writes: int) -> int:
        """The revision so many writes ago, not before the first."""
        return max(self.first, self.revision - writes)


async def play(
    history: list[Step], factory: Callable[[], Awaitable[KV]], *, reopen: Callable[[], Awaitable[KV]] | None
) -> None:
    """Play a history on a fresh store; ``Reopen`` is skipped where it cannot be.

    Raises:
        AssertionError: the store and the model differ.
    """
    kv = await factory()
    try:
        model = Model()
        model.first = model.revision = await kv.revision()
        for step in history:
            if isinstance(step, Reopen):
                if reopen is not None:
                    await kv.close()
                    kv = await reopen()
            else:
                await _step(kv, model, step)
            assert await kv.revision() == model.revision
        await _read(kv, model, ReadPast(0, 0))
        await _watch(kv, model, WatchPast(30, PREFIX, prev=False))
    finally:
        await kv.close()


async def _step(kv: KV, model: Model, step: Step) -> None:
    match step:
        case Put(key, value, hit):
            expect = model.expectation(key, hit=hit)
            assert await kv.put(key, value, expect=expect) == model.put(step, expect)
        case Delete(key, hit):
            expect = model.expectation(key, hit=hit)
            if expect != ABSENT:
                assert await kv.delete(key, expect=expect) == model.delete(key, expect)
        case Group(puts):
            await _group(kv, model, puts)
        case ReadPast():
            await _read(kv, model, step)
        case Compact(back):
            await kv.compact(model.back(back))
            model.compacted = max(model.compacted, model.back(back))
        case WatchPast():
            await _watch(kv, model, step)


async def _group(kv: KV, model: Model, puts: tuple[Put, ...]) -> None:
    """Writes at once: whatever order the store chose, its revisions tell, and the model agrees with that order."""
    expectations = [model.expectation(put.key, hit=put.hit) for put in puts]
    writes = (kv.put(put.key, put.value, expect=expect) for put, expect in zip(puts, expectations, strict=True))
    results = await asyncio.gather(*writes)
    played = list(zip(puts, expectations, results, strict=True))
    for put, expect, result in sorted(played, key=lambda one: (one[2].revision, not one[2].succeeded)):
        if result.succeeded:
            assert model.put(put, expect) == result
    for put, expect, result in played:
        if not result.succeeded:
            stored = model.live.get(put.key)
            assert result.current is None or result.current.key == put.key
            assert stored is None or stored.mod_revision != expect, (
                "a write was refused whose condition held throughout"
            )


async def _read(kv: KV, model: Model, step: ReadPast) -> None:
    revision = model.back(step.back)
    if revision < model.compacted:
        try:
            await kv.range(PREFIX, prefix_end(PREFIX), revision=revision)
        except Compacted:
            return
        raise AssertionError(f"revision {revision} was read, compacted through {model.compacted}")
    expected = model.at(revision)
    result = await kv.range(PREFIX, prefix_end(PREFIX), revision=revision, limit=step.limit)
    cut = expected[: step.limit] if step.limit else expected
    assert result.items == cut
    assert (result.revision, result.total, result.more) == (model.revision, len(expected), len(cut) < len(expected))


async def _watch(kv: KV, model: Model, step: WatchPast) -> None:
    """A watch from then sees all since, then a write made now."""
    start = model.back(step.back) + 1
    if start <= model.compacted:
        return
    sentinel = Put(step.key + b"~", b"", hit=True)
    async with kv.watch(step.key, start, prev=step.prev) as watch:
        expect = model.expectation(sentinel.key, hit=True)
        written = await kv.put(sentinel.key, sentinel.value, expect=expect)
        assert model.put(sentinel, expect) == written
        seen: list[Event] = []
        while not seen or seen[-1].mod_revision < written.revision:
            seen += (await anext(watch)).events
    expected = [e for e in model.events if e.mod_revision >= start and e.key.startswith(step.key)]
    if step.prev:
        forgotten = [e.mod_revision for e in expected if e.prev and e.prev.mod_revision <= model.compacted]
        seen = [e._replace(prev=None) if e.mod_revision in forgotten else e for e in seen]
        expected = [e._replace(prev=None) if e.mod_revision in forgotten else e for e in expected]
    else:
        expected = [e._replace(prev=None) for e in expected]
    assert seen == expected
