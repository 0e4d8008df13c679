"""The graph of owners and dependents, as far as it matters.

Nodes are objects that have owners or dependents, or that are being deleted in a way that concerns dependents. All other
objects are not kept: a store of 100,000 objects without owners costs nothing here. A node that is known only because
something names it as its owner is *virtual* until it has been seen, by a monitor or by a live read.

Source: the node and its rules in kubernetes ``pkg/controller/garbagecollector/graph.go``; keeping only what matters is
ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj

__all__ = ["FOREGROUND", "ORPHAN", "Graph", "Identity", "Node", "Owner", "owners_of"]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
"""The finalizers that the collector works off."""


class Identity(NamedTuple):
    """Which object: its coordinates and its uid. ``namespace`` is ``""`` for one without."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """As upstream's messages name it."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"

    @property
    def gvk(self) -> GVK:
        """Raises ValueError for an apiVersion with two slashes."""
        gv = GroupVersion.parse(self.api_version)
        return GVK(gv.group, gv.version, self.kind)


class Owner(NamedTuple):
    """One owner reference. ``blocks``: its blockOwnerDeletion."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool

    def at(self, namespace: str) -> Identity:
        """What it names, looked for in ``namespace``."""
        return Identity(self.api_version, self.kind, namespace, self.name, self.uid)

    def names(self, identity: Identity) -> bool:
        """Whether it agrees with the coordinates of an object, but for the namespace."""
        return self[:4] == (identity.api_version, identity.kind, identity.name, identity.uid)


def owners_of(obj: Obj) -> tuple[Owner, ...]:
    """The owner references of an object. Kinds are few, and siblings name one owner: they share the strings."""
    share = sys.intern
    return tuple(
        Owner(
            share(ref.get("apiVersion") or ""),
            share(ref.get("kind") or ""),
            share(ref.get("name") or ""),
            share(ref.get("uid") or ""),
            bool(ref.get("blockOwnerDeletion")),
        )
        for ref in meta.owner_references(obj)
    )


_NO_DEPENDENTS: Mapping[str, Node] = MappingProxyType({})
"""Of all nodes that nothing depends on, which is most of them."""


class Node:
    """One object. ``deleting_dependents``, ``orphaning``: it is being deleted and waits for the collector's work.
    ``dependents``: by uid.
    """

    __slots__ = ("being_deleted", "deleting_dependents", "dependents", "identity", "orphaning", "owners", "virtual")

    def __init__(self, identity: Identity, *, owners: tuple[Owner, ...] = (), virtual: bool = False) -> None:
        self.identity = identity
        self.owners = owners
        self.virtual = virtual
        self.dependents = _NO_DEPENDENTS
        self.being_deleted = self.deleting_dependents = self.orphaning = False

    @property
    def uid(self) -> str:
        return self.identity.uid

    def add_dependent(self, node: Node) -> None:
        if isinstance(self.dependents, dict):
            self.dependents[node.uid] = node
        else:
            self.dependents = {node.uid: node}

    def drop_dependent(self, node: Node) -> None:
        if isinstance(self.dependents, dict):
            self.dependents.pop(node.uid, None)

    def blocking_dependents(self) -> Iterator[Node]:
        """The dependents that must go before this object may."""
        return (d for d in self.dependents.values() if any(o.uid == self.uid and o.blocks for o in d.owners))

    def divided_dependents(self, identity: Identity) -> tuple[list[Node], list[Node]]:
        """The dependents that name this object by these coordinates, and those that name it by others."""
        agree: list[Node] = []
        differ: list[Node] = []
        for dependent in self.dependents.values():
            right_place = not identity.namespace or identity.namespace == dependent.identity.namespace
            named = right_place and any(owner.names(identity) for owner in dependent.owners)
            (agree if named else differ).append(dependent)
        return agree, differ


class Graph:
    """Nodes by uid, linked both ways."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(list(self._nodes.values()))

    def __contains__(self, uid: object) -> bool:
        return uid in self._nodes

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def put(self, node: Node) -> None:
        """Add a node that is not there. Its owners are linked by ``link``."""
        self._nodes[node.uid] = node

    def remove(self, node: Node) -> None:
        """Take a node out, and out of its owners' dependents. Its own dependents keep naming it."""
        self._nodes.pop(node.uid, None)
        self.unlink(node, node.owners)

    def unlink(self, node: Node, owners: Iterable[Owner]) -> None:
        """``node`` no longer depends on these."""
        for owner in owners:
            found = self._nodes.get(owner.uid)
            if found is not None:
                found.drop_dependent(node)
                self.drop_if_idle(found)

    def drop_if_idle(self, node: Node) -> None:
        """Forget a node that says nothing any more: seen, without owners and dependents, waiting for nothing."""
        waits = node.deleting_dependents or node.orphaning
        if not (node.virtual or node.owners or node.dependents or waits):
            self._nodes.pop(node.uid, None)

    def clear(self) -> None:
        self._nodes.clear()
