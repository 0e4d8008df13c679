"""Storage version migrations, one at a time for each resource, the oldest first.

A migration runs when its condition Running says so, is carried out by writing all objects of its resource anew, and
succeeds when the server's own count shows that none is left in another form. All that must survive a restart or another
leader is in the object: that it runs, and since which resource version; objects that were written by whoever was
stopped are newer than that.

Source: order of writes, conditions, reasons and messages of kubernetes 1.36 ``pkg/controller/storageversionmigrator``.
Differences: no garbage collector is needed; a migration that fails leaves a definition's stored versions alone; while
it runs, the condition's message says how far it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.controller import Controller, Result, Watch
from controlplane.reconcile.events import EventRecorder, reference_to
from controlplane.reconcile.informer import Informer
from controlplane.reconcile.informers import InformerSet
from controlplane.storagemigration import metrics
from controlplane.storagemigration.definition import Definitions
from controlplane.storagemigration.objects import (
    FAILED,
    MIGRATIONS,
    RUNNING,
    SUCCEEDED,
    in_turn,
    is_running,
    is_terminal,
    is_true,
    resource_of,
    revision_of,
    with_condition,
    with_revision,
)
from controlplane.storagemigration.pace import Pace
from controlplane.storagemigration.progress import Progress
from controlplane.storagemigration.proof import REPORT_PATH, left_behind, stored_forms, text_of
from controlplane.storagemigration.rewriting import MANAGER, Rewriting, is_passing
from controlplane.storagemigration.settings import MigrationOptions
from controlplane.storagemigration.target import find_resource, newest_revision, unsupported

__all__ = ["ACCOUNT", "NAME", "NEEDS", "RULES", "StorageVersionMigrator", "build"]

NAME = "storage-version-migrator"
ACCOUNT = MANAGER
NEEDS = (MIGRATIONS.gr,)
RULES = (
    PolicyRule(("list", "create", "patch"), (ALL,), (ALL,)),
    PolicyRule(("get",), ("apiextensions.k8s.io",), ("customresourcedefinitions",)),
    PolicyRule(("patch",), ("apiextensions.k8s.io",), ("customresourcedefinitions/status",)),
    PolicyRule(("update",), (MIGRATIONS.group,), (f"{MIGRATIONS.resource}/status",)),
    PolicyRule(("get",), non_resource_urls=(REPORT_PATH,)),
)
"""Upstream's, and the report. An apply of what is gone is judged as a creation, hence ``create``."""

_PATIENCE_SECONDS = 60.0
"""How long after its creation a migration waits for its resource to be served."""
_ASK_AGAIN_SECONDS = 2.0
_SHOWN_EVERY_SECONDS = 1.0
"""How often the condition's message says how far a migration is."""
_PASSES = 3
"""How often the objects are gone through before a migration that leaves some behind has failed: servers of the version
before may still write."""
_ATTEMPTS = 5

log = logs.get(__name__)


class _Gone(Exception):
    """The migration was deleted while it ran."""


class _Outcome(NamedTuple):
    """How a migration has ended. ``failure``: why it failed, ``""`` if it did not; ``counts``: for people."""

    failure: str
    counts: str


class StorageVersionMigrator:
    """``reconcile`` takes the migrations of one resource as far as they can go now."""

    def __init__(self, client: APIClient, known: Informer, options: MigrationOptions, clock: Clock) -> None:
        self._client, self._known, self._options, self._clock = client, known, options, clock
        self._migrations = ResourceClient(client, MIGRATIONS, namespaced=False)
        self._definitions = Definitions(client, clock)
        self._pace = Pace(options.writes_per_second, clock)
        self._events = EventRecorder(client, MANAGER, clock=clock)

    async def reconcile(self, gr: GroupResource) -> Result | None:
        """Clean up what has ended, then carry out the migration that runs, or the one whose turn it is."""
        listed = await self._migrations.list()
        all_of = in_turn(migration for migration in listed.items if resource_of(migration) == gr)
        for migration in all_of:
            if is_terminal(migration) and is_running(migration):
                await self._clean_up(migration)
        waiting = [migration for migration in all_of if not is_terminal(migration)]
        running = [migration for migration in waiting if is_running(migration)]
        if not waiting:
            await self._definitions.abandoned(gr)
            return None
        try:
            migration = running[0] if running else await self._promote(waiting[0])
            try:
                return await self._advance(migration)
            except (APIError, ClientError) as error:
                await self._tell(migration, f"trying again after: {error}")
                raise
        except _Gone:
            log.info("a storage migration was deleted while it ran", resource=str(gr))
            return Result(_ASK_AGAIN_SECONDS)

    async def _promote(self, migration: Obj) -> Obj:
        await self._definitions.began(resource_of(migration), meta.name(migration))
        return await self._set(migration, RUNNING, "True", "MigrationRunning", "The migration is running")

    async def _advance(self, migration: Obj) -> Result | None:
        gr = resource_of(migration)
        resource = await find_resource(self._client, gr)
        if resource is None:
            age = self._clock.now() - meta.parse_time(meta.creation_timestamp(migration)).timestamp()
            if age < _PATIENCE_SECONDS:
                await self._tell(
                    migration, f"{gr} is not served; waiting for it until {_PATIENCE_SECONDS:g} s after creation"
                )
                return Result(min(_ASK_AGAIN_SECONDS, _PATIENCE_SECONDS - age))
            await self._end(migration, _Outcome("resource does not exist in discovery", ""))
            return None
        if why := unsupported(resource):
            await self._end(migration, _Outcome(why, ""))
            return None
        objects = ResourceClient(self._client, resource.gvr, namespaced=resource.namespaced)
        if not revision_of(migration):
            newest = await newest_revision(objects)
            migration = await self._change(migration, lambda latest: with_revision(latest, newest))
        await self._end(migration, await self._migrate(migration, resource, objects))
        return None

    async def _migrate(self, migration: Obj, resource: APIResource, objects: ResourceClient) -> _Outcome:
        """Write all objects anew, and again what is left behind."""
        gr = resource_of(migration)
        up_to: int | None = int(revision_of(migration))
        passes = 0
        while True:
            progress, passes = Progress(gr), passes + 1
            rewriting = Rewriting(
                objects,
                resource,
                progress,
                writes=self._options.writes,
                pace=self._pace,
                clock=self._clock,
                after_page=self._shown(migration, progress),
            )
            try:
                await rewriting.run(up_to=up_to)
            except (APIError, ClientError) as error:
                if is_passing(error):
                    raise
                return _Outcome(_unhandled(str(error)), progress.text())
            if progress.first_failure:
                return _Outcome(_unhandled(progress.first_failure), progress.text())
            forms = await stored_forms(self._client, gr)
            if forms is None:
                return _Outcome("", progress.text())
            counts, left = f"{progress.text()}; stored now: {text_of(forms)}", left_behind(forms)
            if not left:
                return _Outcome("", counts)
            if passes == _PASSES:
                return _Outcome(_unhandled(f"still stored otherwise: {text_of(left)}"), counts)
            log.warning("a storage migration left objects behind", resource=str(gr), passes=passes, counts=counts)
            up_to = None

    def _shown(self, migration: Obj, progress: Progress) -> Callable[[], Awaitable[None]]:
        """What writes the progress into the migration, now and then, and notices that it is gone."""
        shown_at = self._clock.monotonic()

        async def show() -> None:
            nonlocal shown_at
            known = self._known.store.get(meta.key_of(migration))
            if known is None or meta.uid(known) != meta.uid(migration):
                raise _Gone
            if self._clock.monotonic() - shown_at >= _SHOWN_EVERY_SECONDS:
                shown_at = self._clock.monotonic()
                await self._tell(known, progress.text())

        return show

    async def _tell(self, migration: Obj, how_far: str) -> None:
        """Say in its condition how far it is, as long as it runs."""
        message = f"The migration is running: {how_far}"

        def told(latest: Obj) -> Obj:
            if not is_running(latest):
                return latest
            return with_condition(latest, RUNNING, "True", "MigrationRunning", message, now="")

        await self._change(migration, told)

    async def _end(self, migration: Obj, outcome: _Outcome) -> None:
        """Say how it has ended, in the status and in an event, then clean up: who sees it cleaned up finds both."""
        gr, failure = resource_of(migration), outcome.failure
        if failure:
            ended = await self._set(migration, FAILED, "True", "StorageVersionMigrationFailed", failure)
        else:
            ended = await self._set(migration, SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "")
        result = "failed" if failure else "succeeded"
        metrics.MIGRATIONS.labels_cached((gr.group, gr.resource, result)).inc()
        log.info("storage migration ended", resource=str(gr), result=result, counts=outcome.counts, error=failure)
        await self._events.event(
            reference_to(ended),
            reason=f"Migration{result.capitalize()}",
            message="; ".join(filter(None, [failure, outcome.counts])),
            type="Warning" if failure else "Normal",
        )
        await self._clean_up(ended)

    async def _clean_up(self, migration: Obj) -> None:
        """Once it has ended: the definition first, since the condition tells whether that was done."""
        if is_true(migration, SUCCEEDED):
            await self._definitions.succeeded(resource_of(migration))
        else:
            await self._definitions.failed(resource_of(migration))
        await self._set(migration, RUNNING, "False", "MigrationCompleted", "Migration completed")

    async def _set(self, migration: Obj, type_: str, status: str, reason: str, message: str) -> Obj:
        now = rfc3339(self._clock.now())
        return await self._change(
            migration, lambda latest: with_condition(latest, type_, status, reason, message, now=now)
        )

    async def _change(self, migration: Obj, change: Callable[[Obj], Obj]) -> Obj:
        """Write the status that ``change`` makes of the migration's latest state.

        Raises:
            _Gone: it was deleted. APIError, ClientError.
        """
        latest = migration
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._migrations.update_status(change(latest))
            except APIError as error:
                if error.code == 404:
                    raise _Gone from error
                if error.reason != "Conflict" or attempt == _ATTEMPTS:
                    raise
            latest = await self._latest(migration)
        return latest

    async def _latest(self, migration: Obj) -> Obj:
        """Its state now, by a list, which is all that the role allows."""
        listed = await self._migrations.list(field_selector=f"metadata.name={meta.name(migration)}")
        for found in listed.items:
            if meta.uid(found) == meta.uid(migration):
                return found
        raise _Gone


def _unhandled(why: str) -> str:
    return f"migration encountered unhandled error: {why}"


def _resources(old: Obj | None, new: Obj | None) -> tuple[GroupResource, ...]:
    """What is to be looked at after a change; messages about progress, which are written here, ask for nothing."""
    obj = new if new is not None else old
    if obj is None or (old is not None and new is not None and _state(old) == _state(new)):
        return ()
    return (resource_of(obj),)


def _state(migration: Obj) -> tuple[bool, bool, str]:
    return is_running(migration), is_terminal(migration), revision_of(migration)


def build(
    client: APIClient, informers: InformerSet, options: MigrationOptions, clock: Clock
) -> Controller[GroupResource]:
    """The controller, watching migrations."""
    informer = informers.get(MIGRATIONS, namespaced=False)
    migrator = StorageVersionMigrator(client, informer, options, clock)
    return Controller(
        NAME,
        watches=[Watch(informer, _resources)],
        reconcile=migrator.reconcile,
        workers=options.resources,
        clock=clock,
    )
