"""Whether all servers on a store agree on the form in which a resource is stored, and since when.

Pure. All is in objects that outlive whoever looks: storage versions (who stores how), identity leases (who is there).

Source: the consumer's contract of KEP-2339; no code of Kubernetes starts migrations by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.storage_versions import ALL_EQUAL

__all__ = ["Agreement", "agreement_of"]


class Agreement(NamedTuple):
    """``encoding``: the version in which every server stores. ``settled``: who stores is exactly who is there; if not,
    one is yet to come, or has gone and is yet to be taken off. ``since``: seconds since 1970. ``episode``: another one
    after each time that servers differed, whoever has seen that."""

    encoding: str
    settled: bool
    since: float
    episode: str


def agreement_of(storage_version: Obj, leases: Collection[Obj]) -> Agreement | None:
    """What a storage version and the identity leases of all servers say; None if servers differ.

    It holds since the last change of the common version, or since the last server came.
    """
    status: Obj = storage_version.get("status") or {}
    encoding = str(status.get("commonEncodingVersion") or "")
    if not encoding:
        return None
    storing = {str(server.get("apiServerID") or "") for server in status.get("storageVersions") or ()}
    agreed = [c["lastTransitionTime"] for c in status.get("conditions") or () if c.get("type") == ALL_EQUAL]
    times = [*agreed, *(meta.creation_timestamp(lease) for lease in leases)]
    return Agreement(
        encoding,
        settled=storing == {meta.name(lease) for lease in leases},
        since=max((meta.parse_time(time).timestamp() for time in times), default=0.0),
        episode="".join(agreed),
    )
