"""The resource that a migration is of, as the server serves it.

Source: behaviour and messages of kubernetes 1.36 ``pkg/controller/storageversionmigrator`` (resource version
controller).
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GVR, GroupResource
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource, discover
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient

__all__ = ["DiscoveryFailed", "find_resource", "newest_revision", "unsupported"]

_NEEDED_VERBS = ("update", "patch", "list")


class DiscoveryFailed(ClientError):
    """It cannot be told whether the resource is served, since a part of its group cannot be read."""


async def find_resource(client: APIClient, gr: GroupResource) -> APIResource | None:
    """The resource in the version that its group prefers, None if it is not served.

    Raises:
        DiscoveryFailed; APIError, ClientError: discovery cannot be read at all.
    """
    found = await discover(client, preferred_only=True)
    resource = next((resource for resource in found.resources if resource.gvr.gr == gr), None)
    failed = [f"{gv}: {error}" for gv, error in found.failed.items() if gv.group == gr.group]
    if resource is None and failed:
        raise DiscoveryFailed(f"discovery of {gr} failed: {'; '.join(failed)}")
    return resource


def unsupported(resource: APIResource) -> str:
    """Why a resource cannot be migrated; ``""`` if it can."""
    if resource.verbs.issuperset(_NEEDED_VERBS):
        return ""
    return f'resource "{_go_text(resource.gvr)}" does not support discovery operations: [{" ".join(_NEEDED_VERBS)}]'


async def newest_revision(client: ResourceClient) -> str:
    """A resource version that is not below that of any object written before this was called."""
    return (await client.list(limit=1, metadata_only=True)).resource_version


def _go_text(gvr: GVR) -> str:
    return f"{gvr.group}/{gvr.version}, Resource={gvr.resource}"
