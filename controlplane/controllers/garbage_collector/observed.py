"""From what monitors see to the graph, and to the work that follows from it.

A change of the graph never deletes anything by itself: it wants work on nodes, and that work reads the objects live.

Source: the rules of kubernetes ``pkg/controller/garbagecollector/graph_builder.go``.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Graph, Identity, Node, Owner, owners_of

__all__ = ["AbsentOwners", "Observer"]

ABSENT_OWNERS = 500

_UID = re.compile(rb'"uid":"([^"\\]*)"')


class AbsentOwners:
    """The owners last proved absent, by their coordinates: their many dependents need not ask again."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: OrderedDict[Identity, None] = OrderedDict()

    def add(self, identity: Identity) -> None:
        self._known[identity] = None
        self._known.move_to_end(identity)
        if len(self._known) > ABSENT_OWNERS:
            self._known.popitem(last=False)

    def __contains__(self, identity: Identity) -> bool:
        if identity not in self._known:
            return False
        self._known.move_to_end(identity)
        return True


class Observer:
    """Keeps ``graph`` as the monitors see the world.

    Args:
        delete: want to know of an object (by uid) whether it is to be deleted.
        orphan: want an object's dependents to be set free.
        misplaced: an object names an owner that lives in another namespace.
    """

    def __init__(
        self,
        *,
        delete: Callable[[str], None],
        orphan: Callable[[str], None],
        misplaced: Callable[[Node, str], None],
    ) -> None:
        self.graph, self.absent = Graph(), AbsentOwners()
        self._delete, self._orphan, self._misplaced = delete, orphan, misplaced

    # -- what monitors and live reads see --------------------------------------------------------------------------

    def concerns(self, obj: Obj) -> bool:
        """Whether ``seen`` would have anything to do: cheap, because of most objects it would not."""
        fields = meta.metadata(obj)
        return "ownerReferences" in fields or "deletionTimestamp" in fields or fields.get("uid") in self.graph

    def is_unconcerned(self, line: bytes) -> bool:
        """Whether ``concerns`` would say no to the object in a line of JSON as servers write it. What is not certain is
        for that to say."""
        if b'"ownerReferences"' in line or b'"deletionTimestamp"' in line:
            return False
        uids = _UID.findall(line)
        graph = self.graph
        return bool(uids) and not any(uid.decode() in graph for uid in uids)

    def seen(self, identity: Identity, obj: Obj) -> None:
        """The object is there, like this."""
        owners = owners_of(obj)
        being_deleted = meta.is_being_deleted(obj)
        finalizers = meta.finalizers(obj) if being_deleted else ()
        deleting, orphaning = FOREGROUND in finalizers, ORPHAN in finalizers
        node = self.graph.get(identity.uid)
        if node is None:
            if not owners and not deleting and not orphaning:
                return
            node = Node(identity, owners=owners)
            self.graph.put(node)
            self._link(node, owners)
        else:
            self._settle_identity(node, identity)
            if owners != node.owners:
                self._change_owners(node, owners)
        node.being_deleted = node.being_deleted or being_deleted
        self._begin_waiting(node, deleting=deleting, orphaning=orphaning)
        self.graph.drop_if_idle(node)

    def gone(self, identity: Identity) -> None:
        """The object with this uid has been deleted."""
        node = self.graph.get(identity.uid)
        if node is not None:
            self._remove(node, identity)

    def proved_absent(self, identity: Identity) -> None:
        """A live read found nothing (or another uid) at these coordinates. What is known under others stays."""
        node = self.graph.get(identity.uid)
        if node is None:
            return
        agree, differ = node.divided_dependents(identity)
        if node.virtual and differ:
            if agree:
                self._absent_to(identity, agree)
            if node.identity == identity:
                self._try_another(node, differ, identity)
        elif not node.virtual and node.identity != identity:
            if agree:
                self._absent_to(identity, agree)
        else:
            self._remove(node, identity)

    def unsure(self, node: Node) -> None:
        """It may have gone while nobody watched: let a live read tell."""
        node.virtual = True
        self._delete(node.uid)

    # -- the graph -------------------------------------------------------------------------------------------------

    def _settle_identity(self, node: Node, identity: Identity) -> None:
        """A virtual node has been seen; those that name it by other coordinates may be wrong."""
        if node.virtual and node.identity != identity:
            _, differ = node.divided_dependents(identity)
            for dependent in differ:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._misplaced(dependent, identity.uid)
                self._delete(dependent.uid)
            node.identity = identity
        node.virtual = False

    def _change_owners(self, node: Node, owners: tuple[Owner, ...]) -> None:
        before = {owner.uid: owner for owner in node.owners}
        after = {owner.uid: owner for owner in owners}
        removed = [owner for uid, owner in before.items() if uid not in after]
        unblocking = [owner for owner in removed if owner.blocks]
        unblocking += [o for uid, o in before.items() if o.blocks and uid in after and not after[uid].blocks]
        node.owners = owners
        self._link(node, [owner for uid, owner in after.items() if uid not in before])
        for owner in unblocking:
            found = self.graph.get(owner.uid)
            if found is not None and found.deleting_dependents:
                self._delete(found.uid)
        self.graph.unlink(node, removed)

    def _link(self, node: Node, owners: Iterable[Owner]) -> None:
        """Make ``node`` a dependent of these owners; who is not known becomes a virtual node, and is asked for."""
        doubtful = False
        for owner in owners:
            found = self.graph.get(owner.uid)
            if found is None:
                found = Node(owner.at(node.identity.namespace), virtual=True)
                self.graph.put(found)
                self._delete(found.uid)
            elif found.identity.namespace and found.identity.namespace != node.identity.namespace:
                if not found.virtual:
                    self._misplaced(node, owner.uid)
                doubtful = True
            elif not owner.names(found.identity):
                doubtful = True
            elif found.virtual and found.identity.namespace != node.identity.namespace:
                doubtful = True  # it was named by an object outside namespaces, perhaps wrongly
            found.add_dependent(node)
        if doubtful:
            self._delete(node.uid)

    def _begin_waiting(self, node: Node, *, deleting: bool, orphaning: bool) -> None:
        if orphaning and not node.orphaning:
            self._orphan(node.uid)
        elif deleting and not node.deleting_dependents:
            for dependent in node.dependents.values():
                self._delete(dependent.uid)
            self._delete(node.uid)
        node.orphaning, node.deleting_dependents = orphaning, deleting

    def _remove(self, node: Node, identity: Identity) -> None:
        self.graph.remove(node)
        if node.dependents:
            self._absent_to(identity, node.dependents.values())
        for owner in node.owners:
            found = self.graph.get(owner.uid)
            if found is not None and found.deleting_dependents:
                self._delete(found.uid)

    def _absent_to(self, identity: Identity, dependents: Iterable[Node]) -> None:
        self.absent.add(identity)
        for dependent in dependents:
            self._delete(dependent.uid)

    def _try_another(self, node: Node, dependents: Iterable[Node], tried: Identity) -> None:
        """Nobody is at the coordinates by which it was looked for: look where its other dependents say it is, each in
        turn and then from the beginning, for as long as nobody is found."""
        others = sorted(
            {owner.at(d.identity.namespace) for d in dependents for owner in d.owners if owner.uid == node.uid}
            - {tried}
        )
        if others:
            node.identity = next((other for other in others if other > tried), others[0])
            self._delete(node.uid)
