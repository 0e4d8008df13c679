"""What every server on the store serves alike, from what is in the store: custom resources by their definitions, and
what API services name a server for. No peer is asked for it, so what a peer has not yet heard of, or still remembers,
is neither shown nor sent on.

Source: the role of kubernetes/apiserver ``pkg/util/peerproxy/gv_exclusion_manager.go``. Upstream leaves out whole
versions, for 5 minutes longer than they exist: its peers may say what they no longer have. Here one resource is left
out, for as long as its definition exists: a peer proves its state current before it answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.registry.table import TableHolder
from controlplane.storage.cache.mirror import Mirror

__all__ = ["Everybodys"]

_DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class Everybodys:
    """Looks it up in ``mirror`` and the current table."""

    def __init__(self, mirror: Mirror, tables: TableHolder) -> None:
        self._mirror, self._tables = mirror, tables

    def has(self, group: str, version: str, plural: str) -> bool:
        """Whether one resource is everybody's."""
        if GroupVersion(group, version) in self._tables.current.remotes:
            return True
        prefix = self._definitions()
        return prefix is not None and bool(self._mirror.scan(prefix + f"{plural}.{group}".encode()))

    def names(self) -> tuple[frozenset[bytes], frozenset[GroupVersion]]:
        """What decides: the keys of definitions, and the versions that others serve."""
        prefix = self._definitions()
        keys = frozenset(entry.key for entry in self._mirror.scan(prefix)) if prefix is not None else frozenset()
        return keys, frozenset(self._tables.current.remotes)

    def left_out(self, groups: Sequence[Obj]) -> tuple[Obj, ...]:
        """A peer's groups without what is everybody's; entries that keep all are the same."""
        return tuple(group for group in map(self._group, groups) if group is not None)

    def _group(self, group: Obj) -> Obj | None:
        name: str = group["metadata"].get("name") or ""
        versions = group.get("versions") or []
        kept = [version for version in (self._version(name, one) for one in versions) if version is not None]
        if not kept:
            return None
        same = len(kept) == len(versions) and all(new is old for new, old in zip(kept, versions, strict=True))
        return group if same else {**group, "versions": kept}

    def _version(self, group: str, version: Obj) -> Obj | None:
        resources = version.get("resources") or []
        kept = [one for one in resources if not self.has(group, version["version"], one["resource"])]
        if len(kept) == len(resources):
            return version
        return {**version, "resources": kept} if kept else None

    def _definitions(self) -> bytes | None:
        """The prefix of definitions' keys; None where this server does not know definitions."""
        served = self._tables.current.lookup(*_DEFINITIONS)
        return self._mirror.prefix + f"{served.resource.key_prefix}/".encode() if served is not None else None
