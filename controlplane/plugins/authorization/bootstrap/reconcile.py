"""Makes the policy that comes with a server true: the post-start hook ``rbac/bootstrap-roles``.

Source: kubernetes ``pkg/registry/rbac/rest/storage_rbac.go`` (when, how often, and that a failure ends the server).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.status import APIError
from controlplane.apis.core.namespaces import NAMESPACES
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.plugins.authorization.bootstrap.merge import merged_binding, merged_role, refers_elsewhere
from controlplane.plugins.authorization.bootstrap.policy import Policy

__all__ = ["make_policy_true"]

log = logs.get(__name__)

RETRY_SECONDS = 1.0
ATTEMPT_SECONDS = 5.0
GIVE_UP_SECONDS = 30.0
WRITES_AT_A_TIME = 8
"""Writes that wait together share a commit of the store; more would hold the loop up."""


async def make_policy_true(policy: Policy, client: APIClient, clock: Clock) -> None:
    """Create and complete what is missing; tried again for half a minute.

    Raises:
        APIError, ClientError, TimeoutError: the last attempt's failure.
    """
    give_up_at = clock.monotonic() + GIVE_UP_SECONDS
    while True:
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                return await _Reconciler(client).run(policy)
        except (APIError, ClientError, TimeoutError) as error:
            if clock.monotonic() >= give_up_at:
                raise
            log.warning("the roles that come with the server could not be made yet", error=error)
        await clock.sleep(RETRY_SECONDS)


class _Reconciler:
    """One attempt."""

    def __init__(self, client: APIClient) -> None:
        self._client = client

    async def run(self, policy: Policy) -> None:
        await self._ensure_namespaces({role.namespace for role in policy.roles} - {""})
        roles = [role.as_object() for role in policy.roles]
        bindings = [binding.as_object() for binding in policy.bindings]
        for kind in (CLUSTER_ROLES, ROLES):
            await self._reconcile(kind, roles, self._role)
        for kind in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            await self._reconcile(kind, bindings, self._binding)

    async def _ensure_namespaces(self, names: Iterable[str]) -> None:
        namespaces = self._of(NAMESPACES)
        for name in sorted(names):
            try:
                await namespaces.get(Key("", name), resource_version="0")
            except APIError as error:
                if error.reason != "NotFound":
                    raise
                await _unless_there(
                    namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
                )

    async def _reconcile(
        self, kind: Resource, objects: list[Obj], one: Callable[[ResourceClient, Obj, Obj | None], Awaitable[None]]
    ) -> None:
        expected = [obj for obj in objects if obj["kind"] == kind.kind]
        if not expected:
            return
        client = self._of(kind)
        existing = {meta.key_of(obj): obj for obj in (await client.list(label_selector=_OURS)).items}
        places = asyncio.Semaphore(WRITES_AT_A_TIME)

        async def reconcile(obj: Obj) -> None:
            async with places:
                await one(client, obj, existing.get(meta.key_of(obj)))

        async with TaskGroup("bootstrap-roles") as group:
            for task in [group.start(reconcile(obj), name=meta.name(obj)) for obj in expected]:
                await task

    async def _role(self, client: ResourceClient, expected: Obj, existing: Obj | None) -> None:
        existing = existing or await _create(client, expected)
        if existing is not None:
            await _update(client, merged_role(expected, existing))

    async def _binding(self, client: ResourceClient, expected: Obj, existing: Obj | None) -> None:
        existing = existing or await _create(client, expected)
        if existing is None:
            return
        if refers_elsewhere(expected, existing):
            await client.delete(meta.key_of(existing), uid=meta.uid(existing))
            await client.create(expected)
            return
        await _update(client, merged_binding(expected, existing))

    def _of(self, kind: Resource) -> ResourceClient:
        return ResourceClient(self._client, GVR(kind.group, "v1", kind.plural), namespaced=kind.namespaced)


_OURS = "kubernetes.io/bootstrapping=rbac-defaults"


async def _create(client: ResourceClient, obj: Obj) -> Obj | None:
    """Create an object; what is there in its place, if something is."""
    if await _unless_there(client.create(obj)):
        return None
    return await client.get(meta.key_of(obj))


async def _update(client: ResourceClient, obj: Obj | None) -> None:
    if obj is not None:
        await client.update(obj)
        log.info("completed what comes with the server", kind=obj["kind"], key=meta.key_of(obj))


async def _unless_there(creation: Awaitable[Obj]) -> bool:
    """Whether something was created, rather than there already."""
    try:
        await creation
    except APIError as error:
        if error.reason != "AlreadyExists":
            raise
        return False
    return True
