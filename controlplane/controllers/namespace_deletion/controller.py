"""Namespace deletion: empty the namespace, say how far it is, and let it go once it is known to be empty.

The finalizer ``kubernetes`` in its spec keeps a namespace until then; another party's finalizers keep it longer. A part
of discovery that failed, a list or a deletion that failed: the rest is still deleted, and the namespace stays.

Source: behaviour of kubernetes ``pkg/controller/namespace``, without its pause of 5 s before the first round: nothing
can be created in the namespace once its deletion is stored. A namespace with content that waits is looked at again
after a quarter of the time that it has been waiting, half a second at least and 8 s (upstream's) at most.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import NAMESPACES
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.namespace_deletion.conditions import with_conditions
from controlplane.controllers.namespace_deletion.content import Content, delete_content
from controlplane.reconcile.controller import Controller, Result, Watch, own_key

__all__ = ["DESCRIPTOR", "NamespaceDeletion"]

NAME = "namespace-deletion"
ACCOUNT = "namespace-controller"
FINALIZER = "kubernetes"
WORKERS = 10
_ATTEMPTS = 5
_LOOK_AGAIN_SECONDS = (0.5, 8.0)

log = logs.get(__name__)


class ContentRemains(ClientError):
    """The namespace cannot be shown to be empty; the message says why."""


class NamespaceDeletion:
    """``reconcile`` takes one namespace as far as it can go now."""

    def __init__(self, client: APIClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._namespaces = ResourceClient(client, NAMESPACES, namespaced=False)
        self._held: set[Key] = set()
        """Namespaces that the server has not let go, though nothing can be found in them."""

    async def reconcile(self, key: Key) -> Result | None:
        """Delete the content of a namespace that is being deleted, then finalize it.

        Raises:
            ContentRemains: something failed, and is tried again.
        """
        try:
            namespace = await self._namespaces.get(key)
            if not meta.is_being_deleted(namespace) or not _finalizers(namespace):
                return None
            namespace = await self._terminating(namespace)
            content = await delete_content(self._client, key.name)
            if not content.gone or key not in self._held:
                await self._say(namespace, content)
            if content.gone and await self._finalize(namespace, content):
                log.info("namespace is empty", namespace=key.name)
                return None
        except APIError as e:
            if e.reason == "NotFound":
                return None
            raise
        if content.errors or content.discovery_error:
            raise ContentRemains("; ".join(filter(None, [content.discovery_error, *content.errors])))
        waiting = self._clock.now() - meta.parse_time(meta.deletion_timestamp(namespace)).timestamp()
        shortest, longest = _LOOK_AGAIN_SECONDS
        return Result(min(max(waiting / 4, shortest), longest))

    async def _finalize(self, namespace: Obj, content: Content) -> bool:
        """Let an empty namespace go; False if the server knows of content that discovery does not show."""
        key = meta.key_of(namespace)
        self._held.discard(key)
        try:
            await self._change(namespace, _finalized, "finalize")
        except APIError as e:
            if e.reason != "Conflict":
                raise
            self._held.add(key)
            content.errors.append(str(e))
            await self._say(namespace, content)
            return False
        return True

    async def _say(self, namespace: Obj, content: Content) -> None:
        """Bring the conditions up to date."""
        now = rfc3339(self._clock.now())
        await self._change(namespace, lambda latest: with_conditions(latest, content, now=now), "status")

    async def _terminating(self, namespace: Obj) -> Obj:
        def terminating(latest: Obj) -> Obj | None:
            status = latest.get("status") or {}
            if status.get("phase") == "Terminating":
                return None
            return {**latest, "status": {**status, "phase": "Terminating"}}

        return await self._change(namespace, terminating, "status")

    async def _change(self, namespace: Obj, change: Callable[[Obj], Obj | None], subresource: str) -> Obj:
        """Write what ``change`` makes of the latest state, as long as it is the same namespace.

        Raises:
            APIError: also 404 if it is gone, or another one has its name.
        """
        key, uid = meta.key_of(namespace), meta.uid(namespace)
        latest = namespace
        for attempt in range(1, _ATTEMPTS + 1):
            changed = change(latest)
            if changed is None:
                return latest
            try:
                return await self._namespaces.update(changed, subresource=subresource)
            except APIError as e:
                if e.reason != "Conflict" or attempt == _ATTEMPTS:
                    raise
            latest = await self._namespaces.get(key)
            if meta.uid(latest) != uid:
                raise APIError(404, "NotFound", f"namespace {key.name} is another one now: uid {meta.uid(latest)}")
        return latest


def _finalizers(namespace: Obj) -> list[str]:
    return list((namespace.get("spec") or {}).get("finalizers") or ())


def _finalized(namespace: Obj) -> Obj | None:
    if FINALIZER not in _finalizers(namespace):
        return None
    kept = sorted({name for name in _finalizers(namespace) if name != FINALIZER})  # in order, as upstream writes them
    return {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}


def _being_deleted(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
    return own_key(old, new) if new is not None and meta.is_being_deleted(new) else ()


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching namespaces by their metadata alone."""
    informer = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    return Controller(
        NAME,
        watches=[Watch(informer, _being_deleted)],
        reconcile=NamespaceDeletion(context.client_for(NAME), context.clock).reconcile,
        workers=WORKERS,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(NAMESPACES.gr,),
    account=ACCOUNT,
    rules=(
        PolicyRule(("delete", "get", "list", "watch"), ("",), ("namespaces",)),
        PolicyRule(("update",), ("",), ("namespaces/finalize", "namespaces/status")),
        PolicyRule(("delete", "deletecollection", "get", "list"), (ALL,), (ALL,)),
    ),
)
