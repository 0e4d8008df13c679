"""What every server on the store serves alike, from what is in the store: custom resources by their definitions, and
what API services name a server for. No peer is asked for it, so what a peer has not yet heard of, or still remembers,
is neither shown nor sent on.

Source: the role of kubernetes/apiserver ``pkg/util/peerproxy/gv_exclusion_manager.go``. Upstream leaves out whole
versions, for 5 minutes longer than they exist: its peers may say what they no longer have. Here one resource is left
out, for as long as its definition exists. A peer's answer is left without what was everybody's while it was made: it
would keep what has been deleted since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.registry.table import TableHolder
from controlplane.storage.cache.mirror import Mirror

__all__ = ["Everybodys", "Names"]

_DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_API_SERVICES = ("apiregistration.k8s.io", "v1", "apiservices")


class Names(NamedTuple):
    """What is everybody's: resources by their definitions' keys, and the versions that API services' servers serve."""

    definitions: frozenset[bytes] = frozenset()
    remotes: frozenset[GroupVersion] = frozenset()


class Everybodys:
    """Looks it up in ``mirror`` and the current table."""

    def __init__(self, mirror: Mirror, tables: TableHolder) -> None:
        self._mirror, self._tables = mirror, tables
        self._undefined: set[bytes] = set()
        """Definitions that are not there as of ``_revision``."""
        self._revision = 0

    def definition_key(self, group: str, plural: str) -> bytes | None:
        """Where the definition would be that makes a resource everybody's, as long as the table is current; None where
        this server does not know definitions."""
        prefix = self._definitions()
        return prefix + f"{plural}.{group}".encode() if prefix is not None else None

    def is_defined(self, definition_key: bytes) -> bool:
        """Whether it is there now. Asked with every request that goes to a peer, and looked up once a revision."""
        revision = self._mirror.image.revision
        if revision != self._revision:
            self._revision = revision
            self._undefined.clear()
        if definition_key in self._undefined:
            return False
        if self._mirror.holds(definition_key):
            return True
        self._undefined.add(definition_key)
        return False

    def sees_all(self) -> bool:
        """Whether this server knows all kinds by which what is served comes and goes while servers run."""
        return all(self._tables.current.lookup(*gvr) is not None for gvr in (_DEFINITIONS, _API_SERVICES))

    def names(self) -> Names:
        """What decides now."""
        self._undefined.clear()
        prefix = self._definitions()
        keys = frozenset(entry.key for entry in self._mirror.scan(prefix)) if prefix is not None else frozenset()
        return Names(keys, frozenset(self._tables.current.remotes))

    def left_out(self, groups: Sequence[Obj], *, before: Names = Names()) -> tuple[Obj, ...]:  # noqa: B008 - immutable
        """A peer's groups without what is everybody's now, or was ``before``; entries that keep all are the same."""
        now, prefix = self.names(), self._definitions() or b""
        names = Names(now.definitions | before.definitions, now.remotes | before.remotes)
        return tuple(kept for group in groups if (kept := _group(group, names, prefix)) is not None)

    def _definitions(self) -> bytes | None:
        """The prefix of definitions' keys; None where this server does not know definitions."""
        served = self._tables.current.lookup(*_DEFINITIONS)
        return self._mirror.prefix + f"{served.resource.key_prefix}/".encode() if served is not None else None


def _group(group: Obj, names: Names, prefix: bytes) -> Obj | None:
    name: str = group["metadata"].get("name") or ""
    versions = group.get("versions") or []
    kept = [version for version in (_version(name, one, names, prefix) for one in versions) if version is not None]
    if not kept:
        return None
    same = len(kept) == len(versions) and all(new is old for new, old in zip(kept, versions, strict=True))
    return group if same else {**group, "versions": kept}


def _version(group: str, version: Obj, names: Names, prefix: bytes) -> Obj | None:
    if GroupVersion(group, version["version"]) in names.remotes:
        return None
    resources = version.get("resources") or []
    kept = [one for one in resources if prefix + f"{one['resource']}.{group}".encode() not in names.definitions]
    if len(kept) == len(resources):
        return version
    return {**version, "resources": kept} if kept else None
