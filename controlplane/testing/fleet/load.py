"""Writers and informers that work on while servers are replaced, and what they must never see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.tasks import TaskGroup
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.errors import StreamBroken, Unreachable
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.reconcile.informer import Informer
from controlplane.testing.fleet.ledger import NAME_PREFIX, Ledger
from controlplane.testing.fleet.servers import Fleet

__all__ = ["RETRIABLE", "Load", "LoadedKind", "load_with", "under_load"]

RETRIABLE = frozenset({429, 503, 504})
"""Answers that say: later."""

PAUSE_SECONDS = 0.02
"""What a writer waits before it tries again; real clients wait longer."""

SETTLE_SECONDS = 30.0
KEPT = 3
"""Of so many objects of a writer the oldest is deleted when it makes another one."""

Attempt = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedKind:
    """What is written: objects like ``sample`` (without a name) in ``namespace`` (``""`` for cluster-wide kinds), by so
    many ``writers``, each with ``pause_seconds`` between its writes."""

    gvr: GVR
    sample: Obj
    namespace: str = "default"
    writers: int = 2
    pause_seconds: float = 0.05


class Load:
    """``ledgers``: by kind, in the order in which they were given."""

    def __init__(self, kinds: Sequence[LoadedKind], client: APIClient) -> None:
        self.kinds = tuple(kinds)
        self._shown = asyncio.Event()
        self.ledgers = [Ledger(str(kind.gvr.gr), self._shown.set) for kind in kinds]
        self._clients = [ResourceClient(client, kind.gvr, namespaced=bool(kind.namespace)) for kind in kinds]
        self._ending = False

    def start(self, group: TaskGroup) -> tuple[list[asyncio.Task[None]], list[Informer]]:
        """Begin to write and to watch."""
        writers: list[asyncio.Task[None]] = []
        informers: list[Informer] = []
        for kind, ledger, client in zip(self.kinds, self.ledgers, self._clients, strict=True):
            informer = Informer(client, namespace=kind.namespace)
            informer.add_handler(ledger.shown)
            group.start(informer.run(), name=f"informer-{ledger.resource}")
            informers.append(informer)
            writers += [
                group.start(self._write(kind, ledger, client, number), name=f"writer-{ledger.resource}-{number}")
                for number in range(kind.writers)
            ]
        return writers, informers

    async def reach(self) -> None:
        """Wait until every kind can be listed, for up to 30 s each.

        Raises:
            ValueError: it cannot.
        """
        for kind, client in zip(self.kinds, self._clients, strict=True):
            why = ""
            try:
                async with asyncio.timeout(SETTLE_SECONDS):
                    while why := await _refusal(client, kind.namespace):  # noqa: ASYNC110 - another server's state
                        await asyncio.sleep(PAUSE_SECONDS)
            except TimeoutError:
                raise ValueError(f"{kind.gvr.gv} {kind.gvr.resource}: cannot be listed: {why}") from None

    def end(self) -> None:
        """Let the writers finish what they have begun."""
        self._ending = True

    async def settled(self) -> None:
        """Wait until the informers show what was written, or for 30 s."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while not all(ledger.settled for ledger in self.ledgers):
                    self._shown.clear()
                    await self._shown.wait()

    def check(self) -> None:
        """Raise if something was seen that must not be: lost objects, errors that a client cannot retry.

        Raises:
            AssertionError: with each fault in a line.
        """
        faults = [fault for ledger in self.ledgers for fault in ledger.faults]
        faults += [ledger.difference() for ledger in self.ledgers if not ledger.settled]
        faults += [f"{ledger.resource}: nothing was written" for ledger in self.ledgers if not ledger.writes]
        if faults:
            raise AssertionError("\n".join(faults))

    def summary(self) -> str:
        """A line for each kind: writes, and what was tried again."""
        return "\n".join(
            f"{ledger.resource}: {ledger.writes} writes; tried again: "
            + (", ".join(f"{count} x {why}" for why, count in ledger.retried.most_common()) or "nothing")
            for ledger in self.ledgers
        )

    async def _write(self, kind: LoadedKind, ledger: Ledger, client: ResourceClient, number: int) -> None:
        """Create, change and delete, object after object; each write until it has worked."""
        made: list[Key] = []
        turn = 0
        while not self._ending:
            key = Key(kind.namespace, f"{NAME_PREFIX}{number}-{turn}")
            turn += 1
            if not await self._create(kind, ledger, client, key):
                await asyncio.sleep(kind.pause_seconds)
                continue
            made.append(key)
            await asyncio.sleep(kind.pause_seconds)
            await self._patch(ledger, client, key, {"metadata": {"labels": {"turn": str(turn)}}})
            if len(made) > KEPT:
                await self._delete(ledger, client, made.pop(0))
            await asyncio.sleep(kind.pause_seconds)

    async def _create(self, kind: LoadedKind, ledger: Ledger, client: ResourceClient, key: Key) -> bool:
        """Whether it has been created."""
        metadata: Obj = {**(kind.sample.get("metadata") or {}), "name": key.name}
        if key.namespace:
            metadata["namespace"] = key.namespace

        async def create(*, again: bool) -> None:
            try:
                ledger.stored(await client.create({**kind.sample, "metadata": metadata}))
            except APIError as error:
                if error.reason != "AlreadyExists" or not again:
                    raise
                ledger.stored(await client.get(key))  # the answer to an earlier try was lost

        return await _until_done(ledger, f"create {key}", create)

    async def _patch(self, ledger: Ledger, client: ResourceClient, key: Key, patch: Obj) -> None:
        async def apply(*, again: bool) -> None:  # a merge patch may be repeated
            changed = await client.patch(key, patch, PatchType.MERGE)
            ledger.stored(changed)
            if meta.labels(changed).get("turn") != patch["metadata"]["labels"]["turn"]:
                ledger.faults.append(f"{ledger.resource} {key}: the answer is not what was written")

        await _until_done(ledger, f"patch {key}", apply)

    async def _delete(self, ledger: Ledger, client: ResourceClient, key: Key) -> None:
        async def delete(*, again: bool) -> None:
            try:
                await client.delete(key)
            except APIError as error:
                if error.reason != "NotFound" or not again or error.details.get("name") != key.name:
                    raise
            ledger.left(key)

        ledger.leaving(key)
        await _until_done(ledger, f"delete {key}", delete)


async def _refusal(client: ResourceClient, namespace: str) -> str:
    """Why a kind cannot be listed now; ``""``: it can.

    Raises:
        ValueError: nor later.
    """
    try:
        await client.list(namespace)
    except APIError as error:
        why = f"{error.code} {error.reason}: {error}"
        if error.code not in RETRIABLE:
            raise ValueError(f"{client.gvr.gv} {client.gvr.resource}: cannot be listed: {why}") from error
        return why
    except (Unreachable, StreamBroken) as error:
        return str(error)
    return ""


async def _until_done(ledger: Ledger, what: str, attempt: Callable[..., Awaitable[None]]) -> bool:
    """Try until it works, which is True; a refusal that does not say "later" is a fault, and ends it."""
    again = False
    while True:
        try:
            await attempt(again=again)
            return True
        except APIError as error:
            if error.code not in RETRIABLE:
                ledger.faults.append(f"{ledger.resource} {what}: {error.code} {error.reason}: {error}")
                return False
            ledger.retried[f"{error.code} {error.reason}"] += 1
        except (Unreachable, StreamBroken) as error:
            ledger.retried[type(error).__name__] += 1
        again = True
        await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def under_load(servers: Fleet, kinds: Sequence[LoadedKind]) -> AsyncIterator[Load]:
    """Load on a fleet, through a balancer; see ``load_with``."""
    async with load_with(await servers.balancer(), kinds) as load:
        yield load


@asynccontextmanager
async def load_with(client: APIClient, kinds: Sequence[LoadedKind]) -> AsyncIterator[Load]:
    """Load inside the block, by any client. It begins once all informers have their first state, and ends once they
    show what was written, or have had 30 s for it; then ``check`` tells.

    Raises:
        ValueError: there are no kinds, or one cannot be listed; the text says why.
    """
    if not kinds:
        raise ValueError("kinds: there must be one, or nothing is loaded")
    load = Load(kinds, client)
    await load.reach()
    async with TaskGroup("load") as group:
        writers, informers = load.start(group)
        for informer in informers:
            await informer.synced.wait()
        yield load
        load.end()
        await asyncio.gather(*writers)
        await load.settled()
