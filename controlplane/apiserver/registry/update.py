"""Updating an object: the new state is made from the stored one, checked, admitted and written if nobody was faster.

An update may also create (where the strategy allows it) and remove (when it takes the last finalizer from an object
that is being deleted).

Source: kubernetes/apiserver ``pkg/registry/generic/registry/store.go`` (Update) and ``pkg/registry/rest/update.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.patch.managed_fields import keep_times
from controlplane.apimachinery.resource import Strategy
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation import field
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.strategy import update_errors
from controlplane.apiserver.registry import create
from controlplane.apiserver.registry.create import Admit
from controlplane.apiserver.registry.findings import all_found, found_at_once
from controlplane.apiserver.registry.metadata import (
    ensure_namespace,
    fill_system_fields,
    keep_system_fields,
    parse_revision,
)
from controlplane.apiserver.registry.settings import RegistrySettings, Written
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import OPTIMISTIC_LOCK, translate
from controlplane.base.aside import aside, is_long
from controlplane.base.values import dataclass
from controlplane.storage.api import CONSISTENT, Entry
from controlplane.storage.errors import KeyExists, KeyNotFound, StorageError

__all__ = ["AdmitUpdate", "Produce", "Update", "update"]

Produce = Callable[[Obj | None], Awaitable[Obj]]
"""Makes the new object, a fresh one at each call, from the stored one (None: there is none); it includes the mutating
admission, and must have no other effects, since it runs again after a lost race."""

AdmitUpdate = Callable[[Obj, Obj], Awaitable[None]]
"""The validating admission of a new object and the stored one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One update. ``uid``: the stored object must have it (``""``: any). ``allow_create``: whether a missing object may
    be created. ``strategy``: the resource's, or its subresource's."""

    served: Served
    strategy: Strategy
    key: Key
    produce: Produce
    admit_create: Admit | None
    admit_update: AdmitUpdate | None
    warn: Callable[[str], None]
    uid: str = ""
    allow_create: bool = False
    dry_run: bool = False


class _Emptied(Exception):
    """The last finalizer has gone from an object under deletion: it is to be removed rather than written."""

    def __init__(self, obj: Obj, revision: int) -> None:
        super().__init__()
        self.obj, self.revision = obj, revision


class _Raced(Exception):
    """The object changed between the decision to remove it and the removal."""


async def update(settings: RegistrySettings, request: Update) -> Written:
    """Carry out an update.

    Raises:
        APIError: not found, conflict, invalid, refused by admission, or what storage's failure translates to.
    """
    served, key = request.served, request.key
    while True:
        try:
            return await _update_once(settings, request)
        except (_Raced, KeyExists):
            continue  # the object came, went or changed meanwhile: decide anew on what is there
        except KeyNotFound as error:
            if not request.allow_create:
                raise status.not_found(served.gr, key.name) from error
            try:
                return await _create(settings, request)
            except KeyExists:
                continue
            except StorageError as failure:
                raise translate(failure, served.gr, key.name, "create") from failure
        except StorageError as error:
            raise translate(error, served.gr, key.name, "update") from error


async def _update_once(settings: RegistrySettings, request: Update) -> Written:
    served, storage, version = request.served, request.served.storage, request.served.version.name
    ttl_of = served.resource.strategy.ttl_seconds

    async def mutate(old: Obj, entry: Entry) -> Obj:
        return await _new_state(request, old, entry)

    try:
        if request.dry_run:
            entry = await storage.get(request.key, CONSISTENT)
            return Written(None, await mutate(await storage.decode(entry, version), entry))
        ttl_seconds = ttl_of({}) if ttl_of is not None else 0  # a lifetime goes by kind, not by what an object says
        return Written(await storage.update(request.key, mutate, version=version, ttl_seconds=ttl_seconds), None)
    except _Emptied as emptied:
        if not request.dry_run:
            await _remove(served, request.key, emptied.revision)
        return Written(None, emptied.obj)


async def _new_state(request: Update, old: Obj, entry: Entry) -> Obj:
    """The object to store in place of ``old``, complete and valid.

    Raises:
        APIError. _Emptied: it is to be removed instead.
    """
    served, strategy = request.served, request.strategy
    old_meta = metadata(old)
    old_meta["resourceVersion"] = str(entry.mod_revision)
    if request.uid and request.uid != old_meta.get("uid"):
        raise _uid_conflict(request, entry.key, old_meta.get("uid") or "")
    new = await request.produce(old)
    meta = metadata(new)
    revision = parse_revision(meta)
    if revision != entry.mod_revision:
        if revision:
            raise status.conflict(served.gr, request.key.name, OPTIMISTIC_LOCK)
        if not strategy.unconditional_update:
            problem = field.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(served.gr.group, served.gr.resource, request.key.name, [problem])
        meta["resourceVersion"] = str(entry.mod_revision)
    await _before_update(request, new, old)
    if request.admit_update is not None:
        await request.admit_update(new, old)
    if _is_emptied(served, new, old_meta):
        raise _Emptied(new, entry.mod_revision)
    return new


async def _before_update(request: Update, new: Obj, old: Obj) -> None:
    ensure_namespace(new["metadata"], request.key.namespace)
    if is_long():
        await aside(lambda: _complete(request, new, old, found_at_once(_begin(request.strategy, new, old))))
        return
    found = _begin(request.strategy, new, old)
    _complete(request, new, old, found if type(found) is list else await all_found(found))


def _begin(strategy: Strategy, new: Obj, old: Obj) -> Iterable[FieldError | None]:
    meta, old_meta = new["metadata"], old["metadata"]
    if old_meta.get("generation"):
        meta["generation"] = old_meta["generation"]
    else:
        meta.pop("generation", None)
    strategy.prepare_for_update(new, old)
    keep_system_fields(new["metadata"], old_meta)
    return strategy.validate_update(new, old)


def _complete(request: Update, new: Obj, old: Obj, own: list[FieldError]) -> None:
    resource, strategy = request.served.resource, request.strategy
    errors = update_errors(resource, new, old, own, strategy=strategy)
    if errors:
        name = new["metadata"].get("name") or ""
        raise status.invalid(resource.storage_gvk.group, resource.kind, name, errors)
    update_warnings = strategy.update_warnings
    for warning in update_warnings(new, old) if update_warnings is not None else strategy.warnings(new):
        request.warn(warning)
    strategy.canonicalize(new)
    keep_times(new, old)


def _is_emptied(served: Served, new: Obj, old_meta: Obj) -> bool:
    return (
        bool(old_meta.get("deletionTimestamp"))
        and not new["metadata"].get("finalizers")
        and not old_meta.get("deletionGracePeriodSeconds")
        and not served.resource.strategy.held(new)
    )


def _uid_conflict(request: Update, store_key: bytes, stored: str) -> APIError:
    """409 in the words of upstream's storage layer, which clients see."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {store_key.decode()}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {request.uid}, UID in object meta: {stored}"
    )
    return status.conflict(request.served.gr, request.key.name, why)


async def _create(settings: RegistrySettings, request: Update) -> Written:
    """Create what an update found missing.

    Raises:
        KeyExists: it is there now.
    """
    served, key = request.served, request.key
    if request.uid:
        raise _uid_conflict(request, served.storage.store_key(key), "")
    obj = await request.produce(None)
    meta = metadata(obj)
    parse_revision(meta)  # unlike a POST an update may name one, which then says nothing
    if not request.dry_run:
        meta.pop("resourceVersion", None)
    fill_system_fields(meta, settings)
    await create.prepare(served, key.namespace, obj, request.warn)
    if request.admit_create is not None:
        await request.admit_create(obj)
    if request.dry_run:
        return Written(None, obj, created=True)
    ttl_of = served.resource.strategy.ttl_seconds
    entry = await served.storage.create(key, obj, ttl_seconds=ttl_of(obj) if ttl_of is not None else 0)
    return Written(entry, None, created=True)


async def _remove(served: Served, key: Key, revision: int) -> None:
    """Remove an object whose last finalizer an update has taken, if it is still in the state that was judged."""

    async def check(_old: Obj, entry: Entry) -> None:
        if entry.mod_revision != revision:
            raise _Raced

    try:
        await served.storage.delete(key, check, version=served.version.name)
    except KeyNotFound:
        return  # somebody else removed it meanwhile, which is what was wanted
