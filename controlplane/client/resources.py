"""The typed verbs of one resource over any ``APIClient``: what controllers call.

Failures that the server reports are ``APIError`` with its code, reason and details; what else can go wrong is a
``ClientError``. Objects that come back are the caller's own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any, NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.api import JSON, APIClient, QueryPairs
from controlplane.client.errors import BadAnswer
from controlplane.client.results import object_of, raise_for_status, read
from controlplane.client.watch import WatchStream

__all__ = ["ObjectList", "PatchType", "Propagation", "ResourceClient"]

_METADATA_ITEM = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class PatchType(StrEnum):
    """The kinds of patches, by their media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What becomes of the dependents of a deleted object."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class ObjectList(NamedTuple):
    """One page (or the whole) of a list, a snapshot at ``resource_version``. Items carry their apiVersion and kind.
    ``continue_token`` is ``""`` at the end; ``remaining`` is how many are left, None if the server does not say."""

    items: list[Obj]
    resource_version: str
    continue_token: str
    remaining: int | None


class ResourceClient:
    """One resource's verbs. ``namespaced`` resources take keys and namespaces; for others the namespace is ``""``."""

    __slots__ = ("_client", "_gr", "_root", "gvr", "namespaced")

    def __init__(self, client: APIClient, gvr: GVR, *, namespaced: bool) -> None:
        self._client, self.gvr, self.namespaced = client, gvr, namespaced
        self._gr = gvr.gr
        self._root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"

    # -- one object ------------------------------------------------------------------------------------------------

    async def get(
        self, key: Key, *, resource_version: str = "", subresource: str = "", metadata_only: bool = False
    ) -> Obj:
        """Read one object; ``resource_version`` ``""`` is consistent, ``"0"`` whatever is at hand, N at least N.

        ``metadata_only``: ask for PartialObjectMetadata (406 where the server has no such form).
        """
        query = [("resourceVersion", resource_version)] if resource_version else []
        headers = {"Accept": _METADATA_ITEM} if metadata_only else None
        return await self._object("GET", key, subresource, query=query, headers=headers)

    async def create(self, obj: Obj, *, dry_run: bool = False, field_manager: str = "") -> Obj:
        """Store a new object, in the namespace that its metadata names."""
        path = self._collection(meta.namespace(obj))
        query = _write_query(dry_run=dry_run, field_manager=field_manager)
        response = await self._client.request("POST", path, query=query, body=dumps(obj))
        raise_for_status(response, "POST", self._gr, meta.name(obj))
        return await read(response, object_of)

    async def update(self, obj: Obj, *, subresource: str = "", dry_run: bool = False, field_manager: str = "") -> Obj:
        """Replace an object; its resourceVersion, if it has one, must be the stored one (409 Conflict otherwise)."""
        query = _write_query(dry_run=dry_run, field_manager=field_manager)
        return await self._object("PUT", meta.key_of(obj), subresource, query=query, body=dumps(obj))

    async def update_status(self, obj: Obj, *, field_manager: str = "") -> Obj:
        """Replace an object's status alone."""
        return await self.update(obj, subresource="status", field_manager=field_manager)

    async def patch(
        self,
        key: Key,
        patch: Any,
        patch_type: PatchType = PatchType.MERGE,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
    ) -> Obj:
        """Change an object. ``patch`` is the patch as a value: operations for JSON, an object for the others.

        ``force`` (apply only): take fields over from other managers.
        """
        query = _write_query(dry_run=dry_run, field_manager=field_manager)
        if force:
            query.append(("force", "true"))
        return await self._object(
            "PATCH", key, subresource, query=query, body=dumps(patch), content_type=patch_type.value
        )

    async def delete(
        self,
        key: Key,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Obj:
        """Delete an object, if it has this uid and resourceVersion (where given; 409 Conflict otherwise).

        Returns:
            A Status if it is gone, the object if its deletion waits (finalizers, grace).
        """
        options = _delete_options(propagation, grace_period_seconds, dry_run=dry_run)
        preconditions = {k: v for k, v in (("uid", uid), ("resourceVersion", resource_version)) if v}
        if preconditions:
            options["preconditions"] = preconditions
        return await self._object("DELETE", key, "", body=dumps(options))

    # -- many objects ----------------------------------------------------------------------------------------------

    async def list(
        self,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        metadata_only: bool = False,
    ) -> ObjectList:
        """Read one snapshot, or a page of it. ``namespace`` ``""`` is all of them; ``limit`` 0 is no limit.

        ``metadata_only``: ask for PartialObjectMetadata (406 where the server has no such form).
        """
        query = _selectors(label_selector, field_selector)
        for name, value in (
            ("limit", str(limit) if limit else ""),
            ("continue", continue_token),
            ("resourceVersion", resource_version),
            ("resourceVersionMatch", resource_version_match),
        ):
            if value:
                query.append((name, value))
        headers = {"Accept": _METADATA_LIST} if metadata_only else None
        response = await self._client.request("GET", self._collection(namespace), query=query, headers=headers)
        raise_for_status(response, "GET", self._gr)
        return await read(response, lambda answer: _object_list(object_of(answer)))

    async def pages(
        self,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_items: int = 500,
        metadata_only: bool = False,
    ) -> AsyncIterator[ObjectList]:
        """Read one consistent snapshot in pages, so that no single answer is large.

        Raises:
            APIError: also 410 in the middle, when the snapshot's revision has been forgotten.
        """
        token = ""
        while True:
            page = await self.list(
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=page_items,
                continue_token=token,
                metadata_only=metadata_only,
            )
            yield page
            token = page.continue_token
            if not token:
                return

    async def delete_collection(
        self,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> Obj:
        """Delete all objects of a namespace (or of a cluster-scoped resource) that match; the server's answer."""
        response = await self._client.request(
            "DELETE",
            self._collection(namespace),
            query=_selectors(label_selector, field_selector),
            body=dumps(_delete_options(propagation, None, dry_run=dry_run)),
        )
        raise_for_status(response, "DELETE", self._gr)
        return await read(response, object_of)

    @asynccontextmanager
    async def watch(
        self,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = True,
        send_initial_events: bool = False,
        timeout_seconds: int = 0,
        metadata_only: bool = False,
    ) -> AsyncIterator[WatchStream]:
        """Open a watch: ``async with pods.watch(...) as events: async for event in events``.

        Args:
            resource_version: all after it; ``""`` begins with the present state as ADDED events.
            send_initial_events: the present state first, consistent, and a bookmark where it ends (WatchList).
            timeout_seconds: the server ends the watch then; 0 leaves it to the server.

        Entering raises:
            APIError: the server refused. Unreachable: no answer.
        """
        query = [("watch", "true"), *_selectors(label_selector, field_selector)]
        for name, value in (
            ("resourceVersion", resource_version),
            ("allowWatchBookmarks", "true" if bookmarks else ""),
            ("sendInitialEvents", "true" if send_initial_events else ""),
            ("resourceVersionMatch", "NotOlderThan" if send_initial_events else ""),
            ("timeoutSeconds", str(timeout_seconds) if timeout_seconds else ""),
        ):
            if value:
                query.append((name, value))
        headers = {"Accept": _METADATA_ITEM} if metadata_only else None
        async with self._client.stream("GET", self._collection(namespace), query=query, headers=headers) as stream:
            yield WatchStream(stream)

    # -- paths and answers -----------------------------------------------------------------------------------------

    def _collection(self, namespace: str) -> str:
        if not namespace:
            return f"{self._root}/{self.gvr.resource}"
        if not self.namespaced:
            raise ValueError(f"{self._gr} is cluster-scoped; namespace {namespace!r} given")
        return f"{self._root}/namespaces/{_segment(namespace)}/{self.gvr.resource}"

    def _item(self, key: Key, subresource: str) -> str:
        if self.namespaced and not key.namespace:
            raise ValueError(f"{self._gr} is namespaced; no namespace given for {key.name!r}")
        path = f"{self._collection(key.namespace)}/{_segment(key.name)}"
        return f"{path}/{subresource}" if subresource else path

    async def _object(
        self,
        method: str,
        key: Key,
        subresource: str,
        *,
        query: QueryPairs = (),
        body: bytes = b"",
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Obj:
        path = self._item(key, subresource)
        response = await self._client.request(
            method, path, query=query, body=body, content_type=content_type, headers=headers
        )
        raise_for_status(response, method, self._gr, key.name)
        return await read(response, object_of)


def _segment(name: str) -> str:
    """A name as a path segment; refused if it could mean another path."""
    if not name or name in (".", "..") or "/" in name or "%" in name:
        raise ValueError(f"{name!r} cannot be a name: it must not be empty, '.', '..', nor contain '/' or '%'")
    return name


def _selectors(label_selector: str, field_selector: str) -> list[tuple[str, str]]:
    pairs = (("labelSelector", label_selector), ("fieldSelector", field_selector))
    return [(name, value) for name, value in pairs if value]


def _write_query(*, dry_run: bool, field_manager: str) -> list[tuple[str, str]]:
    pairs = (("dryRun", "All" if dry_run else ""), ("fieldManager", field_manager))
    return [(name, value) for name, value in pairs if value]


def _delete_options(propagation: Propagation | None, grace_period_seconds: int | None, *, dry_run: bool) -> Obj:
    options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if propagation is not None:
        options["propagationPolicy"] = propagation.value
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def _object_list(answer: Obj) -> ObjectList:
    """Read a list; items get the list's own apiVersion and kind where the server leaves them out."""
    items = answer.get("items") or []
    list_meta: Mapping[str, Any] = answer.get("metadata") or {}
    if not isinstance(items, list) or "items" not in answer:
        raise BadAnswer(f"a list without items: kind {answer.get('kind')!r}")
    if items and "kind" not in items[0]:
        named = {"apiVersion": answer.get("apiVersion", ""), "kind": str(answer.get("kind", "")).removesuffix("List")}
        items = [{**named, **item} for item in items]
    return ObjectList(
        items,
        list_meta.get("resourceVersion") or "",
        list_meta.get("continue") or "",
        list_meta.get("remainingItemCount"),
    )
