"""The resource table: what is served now, as one immutable value that is replaced whole.

Routing, discovery and admission all read the table that is current when they look, so what discovery lists can be
requested, and what is served is in discovery. A table is a pure function of the resources it was built from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from controlplane.apimachinery.identity import GroupResource, GroupVersion
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.decode import Decoder, ObjectDecoder
from controlplane.apiserver.registry.peers import Elsewhere
from controlplane.apiserver.registry.remote import RemoteVersion
from controlplane.apiserver.registry.versions import version_order
from controlplane.base.values import dataclass
from controlplane.storage.api import Storage

__all__ = [
    "EMPTY_TABLE",
    "ResourceTable",
    "Served",
    "ServedGroup",
    "ServedVersion",
    "TableHolder",
    "build_table",
]

DEFAULT_GROUP_PRIORITY = 1000
"""Priority of a group nobody named one for, as for the groups of custom resources."""


class Served:
    """One resource in one served version, and the storage of its objects. Immutable; compared by identity.

    ``storage`` is there for what is stored; nobody asks for it elsewhere.
    ``gr``: how errors name it; objects that are stored as another group's are named by that group. ``api_version``: of
    its objects.
    ``memo`` is for what others derive from it alone and want to keep as long as it is served.
    """

    __slots__ = ("_decoder", "api_version", "gr", "gvk", "gvr", "memo", "resource", "storage", "version")

    storage: Storage

    def __init__(self, resource: Resource, version: ResourceVersion, storage: Storage | None) -> None:
        self.resource, self.version = resource, version
        if storage is not None:
            self.storage = storage
        self.gvr, self.gvk = resource.gvr(version.name), resource.gvk(version.name)
        self.api_version = self.gvk.api_version
        self.gr = GroupResource(resource.storage_gvk.group, resource.plural)
        self.memo: dict[Any, Any] = {}
        self._decoder: ObjectDecoder | None = None

    @property
    def decoder(self) -> ObjectDecoder:
        """Checks and normalises objects that clients send; its schema is compiled on first use."""
        if self._decoder is None:
            make = self.version.make_decoder
            self._decoder = make() if make is not None else Decoder(self.gvk.kind, self.version.schema)
        return self._decoder


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """One version of a group: its resources, by plural name, in alphabetical order. ``remote``: somebody else's, and
    none of its resources are known here."""

    name: str
    resources: Mapping[str, Served]
    remote: RemoteVersion | None = None


@dataclass(frozen=True, slots=True)
class ServedGroup:
    """One group: its versions, the preferred one first. Tables share a group that did not change; ``memo`` is for what
    others derive from it alone."""

    name: str
    versions: tuple[ServedVersion, ...]
    memo: dict[str, Any] = field(default_factory=dict, compare=False)

    def version(self, name: str) -> ServedVersion | None:
        return next((v for v in self.versions if v.name == name), None)

    @property
    def routes(self) -> Mapping[tuple[str, str, str], Served]:
        """All that is served of the group, by (group, version, plural)."""
        return self._known("routes", lambda: {served.gvr: served for served in self._all()})

    @property
    def storages(self) -> Mapping[tuple[str, str], Storage]:
        """Of all that is stored; of resources in several versions, the last one's."""
        return self._known(
            "storages",
            lambda: {served.resource.gr: served.storage for served in self._all() if served.resource.stored},
        )

    @property
    def is_custom(self) -> bool:
        """Whether it holds custom resources only."""
        return not any(served.resource.native for served in self._all())

    def _all(self) -> Iterator[Served]:
        return (served for version in self.versions for served in version.resources.values())

    def _known(self, name: str, make: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        """What is worked out once for all tables that share the group."""
        known: dict[Any, Any] | None = self.memo.get(name)
        if known is None:
            known = self.memo[name] = make()
        return known


class ResourceTable:
    """``groups``: in discovery's order (the core group ``""`` among them); ``local_groups``: those that are served
    here, without what others serve. ``remotes``: what others serve, by group and version; where they serve what is
    served here too, theirs counts. ``routes``: by (group, version, plural). ``elsewhere``: what other servers on the
    same store serve beside this one; None where there are none.
    ``memo``: what others work out from the table and keep as long as it (bounded by them)."""

    __slots__ = (
        "_by_name",
        "_priorities",
        "_storages",
        "elsewhere",
        "groups",
        "local_groups",
        "memo",
        "remotes",
        "routes",
    )

    def __init__(
        self,
        groups: Sequence[ServedGroup] = (),
        *,
        priorities: Mapping[str, int] | None = None,
        remotes: Mapping[GroupVersion, RemoteVersion] | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.elsewhere = elsewhere
        self.local_groups = tuple(groups)
        self._priorities: Mapping[str, int] = priorities or {}
        self.remotes: Mapping[GroupVersion, RemoteVersion] = remotes or {}
        self.groups = _with_remotes(self.local_groups, self._priorities, self.remotes) if remotes else self.local_groups
        self._by_name = {group.name: group for group in self.groups}
        routes: dict[tuple[str, str, str], Served] = {}
        self._storages: dict[tuple[str, str], Storage] = {}
        for group in self.local_groups:  # hundreds, and a new table with every definition: no loop over their resources
            routes.update(group.routes)
            self._storages.update(group.storages)
        if remotes:
            routes = {gvr: served for gvr, served in routes.items() if GroupVersion(*gvr[:2]) not in remotes}
        self.routes: Mapping[tuple[str, str, str], Served] = routes
        self.memo: dict[Any, Any] = {}

    def lookup(self, group: str, version: str, plural: str) -> Served | None:
        return self.routes.get((group, version, plural))

    def group(self, name: str) -> ServedGroup | None:
        return self._by_name.get(name)

    def storage_of(self, group: str, plural: str) -> Storage | None:
        """The storage of a resource in whatever version it is served."""
        return self._storages.get((group, plural))

    def with_changes(self, changes: Mapping[GroupResource, Sequence[Served]]) -> ResourceTable:
        """A table in which some resources are served otherwise (no ``Served``: not at all); the rest is shared."""
        groups = {group.name: group for group in self.local_groups}
        for name in {gr.group for gr in changes}:
            old = groups.pop(name, None)
            kept = [
                served
                for version in (old.versions if old is not None else ())
                for served in version.resources.values()
                if served.gr not in changes
            ]
            new = [served for gr, several in changes.items() if gr.group == name for served in several]
            if kept or new:
                groups[name] = _group_of(name, [*kept, *new])
        ordered = _in_order(groups.values(), self._priorities)
        return ResourceTable(ordered, priorities=self._priorities, remotes=self.remotes, elsewhere=self.elsewhere)

    def with_remotes(self, remotes: Mapping[GroupVersion, RemoteVersion]) -> ResourceTable:
        """A table in which others serve these; what is served here is shared."""
        return self._with(remotes, self.elsewhere)

    def with_elsewhere(self, elsewhere: Elsewhere | None) -> ResourceTable:
        """A table in which other servers serve this; what is served here is shared."""
        return self._with(self.remotes, elsewhere)

    def _with(self, remotes: Mapping[GroupVersion, RemoteVersion], elsewhere: Elsewhere | None) -> ResourceTable:
        return ResourceTable(self.local_groups, priorities=self._priorities, remotes=remotes, elsewhere=elsewhere)


EMPTY_TABLE = ResourceTable()


def build_table(
    resources: Iterable[tuple[Resource, Storage | None]], *, group_priorities: Mapping[str, int] | None = None
) -> ResourceTable:
    """Build a table.

    Args:
        resources: each with the storage of its objects, None for what is not stored.
        group_priorities: higher ones are listed first, equal ones by name; a group not named has
            ``DEFAULT_GROUP_PRIORITY``.

    Raises:
        ValueError: two resources claim the same group, version and plural.
    """
    by_group: dict[str, list[Served]] = {}
    for resource, storage in resources:
        for version in resource.versions:
            if version.served:
                by_group.setdefault(resource.group, []).append(Served(resource, version, storage))
    groups = [_group_of(name, several) for name, several in by_group.items()]
    priorities = group_priorities or {}
    return ResourceTable(_in_order(groups, priorities), priorities=priorities)


def _group_of(name: str, resources: Iterable[Served]) -> ServedGroup:
    versions: dict[str, dict[str, Served]] = {}
    for served in sorted(resources, key=lambda served: served.gvr.resource):
        plurals = versions.setdefault(served.gvr.version, {})
        if served.gvr.resource in plurals:
            raise ValueError(f"{served.gvr} is served twice")
        plurals[served.gvr.resource] = served
    ordered = sorted(versions, key=version_order)
    return ServedGroup(name, tuple(ServedVersion(v, MappingProxyType(versions[v])) for v in ordered))


def _in_order(groups: Iterable[ServedGroup], priorities: Mapping[str, int]) -> list[ServedGroup]:
    return sorted(groups, key=lambda g: (-priorities.get(g.name, DEFAULT_GROUP_PRIORITY), g.name))


def _with_remotes(
    local: Sequence[ServedGroup], priorities: Mapping[str, int], remotes: Mapping[GroupVersion, RemoteVersion]
) -> tuple[ServedGroup, ...]:
    """All groups in discovery's order: a group's priority is the highest that anybody gives it."""
    groups = {group.name: group for group in local}
    ranks = {name: priorities.get(name, DEFAULT_GROUP_PRIORITY) for name in groups}
    by_group: dict[str, list[RemoteVersion]] = {}
    for gv, remote in remotes.items():
        by_group.setdefault(gv.group, []).append(remote)
        ranks[gv.group] = max(ranks.get(gv.group, 0), remote.group_priority)
    for name, several in by_group.items():
        theirs = {remote.gv.version for remote in several}
        own = groups[name] if name in groups else ServedGroup(name, ())
        versions = [
            *((_own_priority(version), version) for version in own.versions if version.name not in theirs),
            *((one.version_priority, ServedVersion(one.gv.version, MappingProxyType({}), one)) for one in several),
        ]
        versions.sort(key=lambda ranked: (-ranked[0], version_order(ranked[1].name)))
        groups[name] = ServedGroup(name, tuple(version for _, version in versions))
    return tuple(sorted(groups.values(), key=lambda group: (-ranks[group.name], group.name)))


def _own_priority(version: ServedVersion) -> int:
    """What the API service of a version that is served here says."""
    return 15 if any(served.resource.native for served in version.resources.values()) else 100


class TableHolder:
    """The current table.

    ``complete`` is False until all sources of resources have been heard once: until then a resource that is missing is
    not known to be missing, and requests for it are 503 rather than 404.
    """

    __slots__ = ("_current", "_subscribers", "complete")

    def __init__(self, table: ResourceTable = EMPTY_TABLE, *, complete: bool = False) -> None:
        self._current = table
        self._subscribers: list[Callable[[ResourceTable], None]] = []
        self.complete = complete

    @property
    def current(self) -> ResourceTable:
        return self._current

    def storage_of(self, group: str, plural: str) -> Storage | None:
        """See ``ResourceTable``; of the table that is current when it is asked."""
        return self._current.storage_of(group, plural)

    def swap(self, table: ResourceTable, *, complete: bool = True) -> None:
        """Replace the table; subscribers are told before this returns."""
        self._current, self.complete = table, complete
        for subscriber in tuple(self._subscribers):
            subscriber(table)

    def subscribe(self, callback: Callable[[ResourceTable], None]) -> Callable[[], None]:
        """Be told of each new table, from the next on. Returns how to stop."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)
