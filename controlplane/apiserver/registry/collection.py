"""Deleting a collection: everything a list shows, page by page, not as one step.

Source: kubernetes/apiserver ``pkg/registry/generic/registry/store.go`` (DeleteCollection).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.create import Admit
from controlplane.apiserver.registry.delete import delete
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.apiserver.registry.settings import RegistrySettings
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import translate
from controlplane.base.tasks import TaskGroup
from controlplane.storage.api import Entry, Freshness, ListResult, Match, Predicate
from controlplane.storage.errors import StorageError

__all__ = ["Selection", "delete_collection"]

_PAGE_OBJECTS = 10_000
_WORKERS = 64
"""Deletes under way at once: enough for one group commit to take many of them."""


class Selection(NamedTuple):
    """What to delete: as for a list. ``limit`` 0 is no limit."""

    namespace: str | None
    predicate: Predicate
    fresh: Freshness
    limit: int = 0
    continue_key: bytes | None = None


async def delete_collection(
    settings: RegistrySettings,
    served: Served,
    selection: Selection,
    request: DeleteRequest,
    *,
    admit: Callable[[Key], Admit | None],
) -> ListResult:
    """Delete what the selection lists; what has gone meanwhile counts as deleted.

    Returns:
        The list, as it was before.

    Raises:
        APIError: of the first object that could not be deleted; others may have been.
    """
    entries: list[Entry] = []
    fresh, continue_key = selection.fresh, selection.continue_key
    while True:
        try:
            page = await served.storage.list(
                selection.namespace,
                selection.predicate,
                fresh,
                version=served.version.name,
                limit=selection.limit or _PAGE_OBJECTS,
                continue_key=continue_key,
            )
        except StorageError as error:
            raise translate(error, served.gr, "", "list") from error
        await _delete_all(settings, served, page.entries, request, admit)
        entries.extend(page.entries)
        if selection.limit or page.continue_key is None:
            return ListResult(entries, page.revision, page.continue_key, page.remaining)
        fresh, continue_key = Freshness(page.revision, Match.EXACT), page.continue_key


async def _delete_all(
    settings: RegistrySettings,
    served: Served,
    entries: Sequence[Entry],
    request: DeleteRequest,
    admit: Callable[[Key], Admit | None],
) -> None:
    queue = iter(entries)

    async def work() -> None:
        for entry in queue:
            key = served.storage.key_of(entry)
            try:
                await delete(settings, served, key, request, admit=admit(key))
            except APIError as error:
                if error.reason != "NotFound":
                    raise

    async with TaskGroup("delete-collection") as group:
        workers = [group.start(work(), name=f"worker-{n}") for n in range(min(_WORKERS, len(entries)))]
        for worker in workers:
            await worker
