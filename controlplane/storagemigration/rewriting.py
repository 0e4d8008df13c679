"""One pass over the objects of a resource: each is written as it is, and so gets the form that the server stores now.

The write is an apply of nothing: a patch with uid and resource version and no fields, which a server carries out where
the stored bytes would become others, and only there. An object that somebody changes or deletes first needs none: the
patch is a conflict then, and that is success.

Source: behaviour of kubernetes 1.36 ``pkg/controller/storageversionmigrator`` (the patch, what is tried again).
Differences: no graph of a garbage collector is needed, since objects are listed in pages; one object that cannot be
written does not keep the others from being written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup
from controlplane.client.discovery import APIResource
from controlplane.client.errors import ClientError, Unreachable
from controlplane.client.resources import ObjectList, PatchType, ResourceClient
from controlplane.storagemigration.pace import Pace
from controlplane.storagemigration.progress import Progress

__all__ = ["MANAGER", "Rewriting", "is_passing"]

MANAGER = "storage-version-migrator-controller"
"""Who manages the fields that are written: none are, but audit logs and conflicts name it."""

_PAGE_ITEMS = 500
_ATTEMPTS = 6
_FIRST_PAUSE_SECONDS = 0.05
_PASSING_CODES = frozenset({429, 500, 503, 504})
_UNREADABLE = "StorageReadError"


def is_passing(error: APIError | ClientError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, APIError):
        return error.code in _PASSING_CODES and error.reason != _UNREADABLE
    return isinstance(error, Unreachable)


class Rewriting:
    """``writes``: how many objects at a time. ``after_page`` is called after each page of objects."""

    def __init__(
        self,
        client: ResourceClient,
        resource: APIResource,
        progress: Progress,
        *,
        writes: int,
        pace: Pace,
        clock: Clock,
        after_page: Callable[[], Awaitable[None]],
    ) -> None:
        self._client, self._resource, self._progress = client, resource, progress
        self._writes, self._pace, self._clock, self._after_page = writes, pace, clock, after_page

    async def run(self, *, up_to: int | None) -> None:
        """Write all objects anew. ``up_to``: those that are newer than this revision are known to be current; None:
        of none that is known.

        Raises:
            APIError, ClientError: the objects cannot be listed, or one could not be written for a reason that passes.
        """
        token = ""
        while True:
            page = await self._page(token)
            await self._write_all(page.items, up_to)
            self._progress.remain(page.remaining if page.continue_token else None)
            await self._after_page()
            token = page.continue_token
            if not token:
                return

    async def _page(self, token: str) -> ObjectList:
        """The next objects. A list that the store has forgotten in between is gone on with in its present state: what
        is new in it is newer than the migration."""
        try:
            return await self._client.list(limit=_PAGE_ITEMS, continue_token=token, metadata_only=True)
        except APIError as error:
            if error.code != 410 or not error.continue_token:
                raise
            return await self._client.list(limit=_PAGE_ITEMS, continue_token=error.continue_token, metadata_only=True)

    async def _write_all(self, items: Sequence[Obj], up_to: int | None) -> None:
        waiting = iter(items)
        async with TaskGroup("rewriting") as group:
            working = [
                group.start(self._write_some(waiting, up_to), name=f"writer-{number}")
                for number in range(min(self._writes, len(items)))
            ]
            if working:
                await asyncio.wait(working)

    async def _write_some(self, waiting: Iterator[Obj], up_to: int | None) -> None:
        for item in waiting:
            if up_to is not None and int(meta.resource_version(item)) > up_to:
                self._progress.count("current")
            else:
                await self._write(item)

    async def _write(self, item: Obj) -> None:
        """Raises what is left of an error that passes, after some attempts."""
        patch = {
            "apiVersion": str(self._resource.gvr.gv),
            "kind": self._resource.kind,
            "metadata": {"uid": meta.uid(item), "resourceVersion": meta.resource_version(item)},
        }
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            await self._pace.turn()
            try:
                written = await self._client.patch(meta.key_of(item), patch, PatchType.APPLY, field_manager=MANAGER)
            except (APIError, ClientError) as error:
                if not is_passing(error):
                    self._refused(error)
                    return
                if attempt == _ATTEMPTS:
                    raise
                await self._clock.sleep(pause)
                pause *= 2
                continue
            is_new = meta.resource_version(written) != meta.resource_version(item)
            self._progress.count("rewritten" if is_new else "current")
            return

    def _refused(self, error: APIError | ClientError) -> None:
        if isinstance(error, APIError) and (error.reason == "Conflict" or error.code == 404):
            self._progress.count("superseded")
        else:
            self._progress.failed(str(error))
