"""The collector's decisions, each on one object, each read live.

An object goes when it has owners and none of them exists. An owner exists unless a live read proves that it does not: a
kind that discovery cannot name, an answer that failed, a namespace that cannot be read leave the object as it is.

Source: the rules of kubernetes ``pkg/controller/garbagecollector/garbagecollector.go``. Stricter in one place: a
finalizer comes off only while discovery is whole and every monitor has its first state, so that no dependent is
overlooked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.base import logs
from controlplane.client.errors import NoKindMatch
from controlplane.client.resources import Propagation
from controlplane.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Identity, Node, Owner, owners_of
from controlplane.controllers.garbage_collector.live import LiveObjects
from controlplane.controllers.garbage_collector.observed import Observer
from controlplane.reconcile.controller import Result

__all__ = ["Collector"]

_LOOK_AGAIN_SECONDS = 1.0
_ORPHANED_AT_A_TIME = 20

log = logs.get(__name__)


class _Owners(NamedTuple):
    """The owners of an object: those that exist, those that do not, those that wait for their dependents to go."""

    solid: list[Owner]
    dangling: list[Owner]
    waiting: list[Owner]


class _NeverAnOwner(Exception):
    """An object without a namespace names an owner in one: it can never be found, so nothing follows from that."""


class Collector:
    """``delete`` and ``orphan`` are the work on one uid.

    Args:
        whole: whether every dependent that exists is known: discovery is complete, all monitors have their state.
        again: want ``delete`` on a uid.
    """

    def __init__(
        self, observer: Observer, live: LiveObjects, *, whole: Callable[[], bool], again: Callable[[str], None]
    ) -> None:
        self._observer, self._graph, self._live = observer, observer.graph, live
        self._whole, self._again = whole, again
        self.unmapped: set[str] = set()
        """What waits for discovery to know a kind."""

    async def delete(self, uid: str) -> Result | None:
        """Delete the object if it is garbage; let its deletion go on if it waits for its dependents."""
        node = self._graph.get(uid)
        if node is None or (node.being_deleted and not node.deleting_dependents and not node.virtual):
            return None
        try:
            latest = await self._live.get(node.identity)
            if self._graph.get(uid) is not node:
                return None
            if latest is None or meta.uid(latest) != uid:
                await self._absent(node)
                return None
            if node.virtual:  # of a kind without namespaces it is not where its first dependent is
                self._observer.seen(node.identity._replace(namespace=meta.namespace(latest)), latest)
            if node.deleting_dependents:
                return await self._go_on(node)
            await self._judge(node, latest)
        except NoKindMatch as e:
            self.unmapped.add(uid)
            log.info("kept, since its kind or its owner's is not known here", object=str(node.identity), error=e)
            return None
        except _NeverAnOwner:
            return None
        return None

    async def orphan(self, uid: str) -> Result | None:
        """Set the dependents of an object free, then let it go."""
        node = self._graph.get(uid)
        if node is None or not node.orphaning:
            return None
        if not self._whole():
            return Result(_LOOK_AGAIN_SECONDS)
        room = asyncio.Semaphore(_ORPHANED_AT_A_TIME)

        async def free(dependent: Node) -> None:
            async with room:
                await self._live.drop_owners(dependent.identity, [uid])

        results = await asyncio.gather(*(free(d) for d in list(node.dependents.values())), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        await self._live.drop_finalizer(node.identity, ORPHAN)
        return None

    async def _absent(self, node: Node) -> None:
        """Nothing is where the node was looked for. It may be elsewhere, and wrongly named."""
        if node.virtual:
            elsewhere = await self._live.find(node.identity)
            if self._graph.get(node.uid) is not node:
                return
            if elsewhere is not None:
                self._observer.seen(node.identity._replace(namespace=meta.namespace(elsewhere)), elsewhere)
                return
            if not node.identity.namespace and self._live.resource_of(node.identity).namespaced:
                return  # named by an object outside namespaces, which can have no such owner: nothing follows
        self._observer.proved_absent(node.identity)

    async def _go_on(self, node: Node) -> Result | None:
        """Foreground: the dependents that block go first."""
        blocking = [d for d in node.blocking_dependents() if not d.deleting_dependents]
        if blocking:
            for dependent in blocking:
                self._again(dependent.uid)
            return None
        if any(True for _ in node.blocking_dependents()):
            return None  # they go on by themselves, and each end asks for this again
        if not self._whole():
            return Result(_LOOK_AGAIN_SECONDS)
        await self._live.drop_finalizer(node.identity, FOREGROUND)
        return None

    async def _judge(self, node: Node, latest: Obj) -> None:
        owners = owners_of(latest)
        if not owners:
            return
        solid, dangling, waiting = await self._classify(node.identity, owners)
        if solid:
            if dangling or waiting:
                await self._live.drop_owners(node.identity, [owner.uid for owner in (*dangling, *waiting)])
            return
        if waiting and node.dependents:
            if any(dependent.deleting_dependents for dependent in node.dependents.values()):
                await self._live.unblock_owners(node.identity)  # a circle: somebody has to let go
                refreshed = await self._live.get(node.identity)
                if refreshed is None or meta.uid(refreshed) != node.uid:
                    return
                latest = refreshed
            await self._live.delete(node.identity, latest, Propagation.FOREGROUND)
            return
        finalizers = meta.finalizers(latest)
        propagation = Propagation.BACKGROUND
        if ORPHAN in finalizers:
            propagation = Propagation.ORPHAN
        elif FOREGROUND in finalizers:
            propagation = Propagation.FOREGROUND
        log.debug("deleting an object without owners", object=str(node.identity), propagation=propagation.value)
        await self._live.delete(node.identity, latest, propagation)

    async def _classify(self, identity: Identity, owners: Sequence[Owner]) -> _Owners:
        """Raises:
        NoKindMatch, APIError, ClientError: of some owner it cannot be told.
        """
        found = _Owners([], [], [])
        for owner in owners:
            state = await self._owner(identity, owner)
            if state is None:
                found.dangling.append(owner)
            elif meta.is_being_deleted(state) and FOREGROUND in meta.finalizers(state):
                found.waiting.append(owner)
            else:
                found.solid.append(owner)
        return found

    async def _owner(self, identity: Identity, owner: Owner) -> Obj | None:
        """The owner, live; None if it is proved absent."""
        absent = self._observer.absent
        if owner.at("") in absent or owner.at(identity.namespace) in absent:
            return None
        wanted = owner.at(identity.namespace)
        if not self._live.resource_of(wanted).namespaced:
            wanted = owner.at("")
        elif not identity.namespace:
            raise _NeverAnOwner
        state = await self._live.get(wanted)
        if state is None or meta.uid(state) != owner.uid:
            absent.add(wanted)
            return None
        return state
