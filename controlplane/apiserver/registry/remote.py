"""Versions of groups that other servers serve, as the resource table has them."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.base.values import dataclass
from controlplane.client.request import Handler

__all__ = ["RemoteSwagger", "RemoteVersion"]


@dataclass(frozen=True, slots=True)
class RemoteSwagger:
    """What another server's Swagger 2.0 document says of one version. ``digest``: of the document."""

    digest: str
    paths: Mapping[str, Obj]
    definitions: Mapping[str, Obj]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteVersion:
    """A version of a group that another server serves: ``handle`` answers all requests for it.

    ``discovered``: what aggregated discovery says of it (version, resources, freshness). Priorities: where it is listed
    among the groups, and among the versions of its group. ``openapi_hash``: of its document of OpenAPI 3.0, which the
    other server answers too; empty: it has none. ``swagger``: None if none is known.
    """

    gv: GroupVersion
    handle: Handler
    discovered: Obj
    group_priority: int
    version_priority: int
    openapi_hash: str = ""
    swagger: RemoteSwagger | None = None

    def has(self, plural: str) -> bool:
        """Whether the other server is known to have a resource."""
        return any(entry.get("resource") == plural for entry in self.discovered.get("resources") or ())
