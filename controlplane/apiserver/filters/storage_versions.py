"""Writes wait until this server has reported in which form it stores their resource: else objects could be stored in a
form of which nobody knows.

What passes meanwhile is what the reports stand on: leases and namespaces of the system, and storage versions.

Source: kubernetes/apiserver ``pkg/endpoints/filters/storageversion.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import service_unavailable
from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.apiserver.filters.monitor import APISERVER_USER
from controlplane.client.request import Handler, Request, Response

__all__ = ["StorageVersionBarrier", "with_storage_version_barrier"]

_READS = frozenset({"get", "list", "watch"})


class StorageVersionBarrier(Protocol):
    """What is still to be reported. ``completed``: nothing any more."""

    @property
    def completed(self) -> asyncio.Event: ...

    def pending(self, resource: GroupResource) -> str | None:
        """The last error, ``<nil>`` if there was none; None for a resource that writes need not wait for."""


def with_storage_version_barrier(following: Handler, *, barrier: StorageVersionBarrier | None) -> Handler:
    """Answer 503 to writes of what is not reported yet; without a barrier nothing waits."""
    if barrier is None:
        return following

    def handle(request: Request) -> Awaitable[Response]:
        if not barrier.completed.is_set() and not _passes(request):
            resource = GroupResource(request.info.group, request.info.resource)
            error = barrier.pending(resource)
            if error is not None:
                raise service_unavailable(
                    f"wait for storage version registration to complete for resource: {resource}, "
                    f"last seen error: {error}"
                )
        return following(request)

    return handle


def _passes(request: Request) -> bool:
    info, user = request.info, request.user
    if not info.is_resource or info.verb in _READS:
        return True
    where = (info.group, info.resource)
    if where == ("internal.apiserver.k8s.io", "storageversions"):
        return True
    if where == ("coordination.k8s.io", "leases"):
        return info.namespace == "kube-system"
    return (
        where == ("", "namespaces")
        and info.verb == "create"
        and user.name == APISERVER_USER
        and MASTERS_GROUP in user.groups
    )
