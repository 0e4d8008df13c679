"""Creating an object: metadata, strategy, validation, admission, storage.

Source: kubernetes/apiserver ``pkg/registry/generic/registry/store.go`` (Create) and ``pkg/registry/rest/create.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.resource import Strategy
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.strategy import creation_errors
from controlplane.apiserver.registry import names
from controlplane.apiserver.registry.findings import all_found, found_at_once
from controlplane.apiserver.registry.metadata import ensure_namespace, fill_system_fields, parse_revision
from controlplane.apiserver.registry.settings import RegistrySettings, Written
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import translate
from controlplane.base.aside import aside, is_long
from controlplane.storage.api import CONSISTENT
from controlplane.storage.errors import KeyExists, KeyNotFound, StorageError

__all__ = ["Admit", "create"]

_new = tuple.__new__
"""A third of the cost of calling a named tuple's class; two are made for each create."""

Admit = Callable[[Obj], Awaitable[None]]
"""The validating admission of one object."""


def create(
    settings: RegistrySettings,
    served: Served,
    namespace: str,
    obj: Obj,
    *,
    admit: Admit | None,
    dry_run: bool,
    warn: Callable[[str], None],
) -> Awaitable[Written]:
    """Create an object; one without a name but with ``generateName`` gets one, and another if it is taken.

    Args:
        namespace: the request's, ``""`` for a cluster-scoped resource.
        obj: decoded, defaulted and past mutating admission; it is changed.

    Raises:
        APIError: invalid, exists already, refused by admission, or what storage's failure translates to.
    """
    meta = obj["metadata"]
    named = meta.get("name") or not meta.get("generateName")
    attempt = _create if named else _create_with_some_name
    return attempt(settings, served, namespace, obj, admit=admit, dry_run=dry_run, warn=warn)


async def _create_with_some_name(
    settings: RegistrySettings,
    served: Served,
    namespace: str,
    obj: Obj,
    *,
    admit: Admit | None,
    dry_run: bool,
    warn: Callable[[str], None],
) -> Written:
    for _ in range(names.ATTEMPTS - 1):
        try:
            return await _create(settings, served, namespace, deepcopy(obj), admit=admit, dry_run=dry_run, warn=warn)
        except APIError as error:
            if error.reason != "AlreadyExists":
                raise
    return await _create(settings, served, namespace, obj, admit=admit, dry_run=dry_run, warn=warn)


async def _create(
    settings: RegistrySettings,
    served: Served,
    namespace: str,
    obj: Obj,
    *,
    admit: Admit | None,
    dry_run: bool,
    warn: Callable[[str], None],
) -> Written:
    strategy, storage = served.resource.strategy, served.storage
    meta = obj["metadata"]
    fill_system_fields(meta, settings)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = names.generate(meta["generateName"], settings.random)
    await prepare(served, namespace, obj, warn)
    if admit is not None:
        await admit(obj)
    key = _new(Key, (namespace, meta["name"]))
    try:
        if dry_run:  # a revision that is given stays, since only the storage minds it
            await _require_absent(served, key)
            return Written(None, obj, created=True)
        if "resourceVersion" in meta and _names_revision(meta):
            raise APIError(500, "", "resourceVersion should not be set on objects to be created")
        ttl_seconds = strategy.ttl_seconds(obj) if strategy.ttl_seconds is not None else 0
        return _new(Written, (await storage.create(key, obj, ttl_seconds=ttl_seconds), None, True))
    except KeyExists as error:
        raise await _already_exists(served, key, obj) from error
    except StorageError as error:
        raise translate(error, served.gr, key.name, "create") from error


async def prepare(served: Served, namespace: str, obj: Obj, warn: Callable[[str], None]) -> None:
    """Bring a new object into its stored form, or say all that is wrong with it.

    Raises:
        APIError: 400 for another namespace, 422 with every problem.
    """
    strategy = served.resource.strategy
    ensure_namespace(obj["metadata"], namespace)
    if is_long():
        await aside(lambda: _complete(served, obj, found_at_once(_begin(strategy, obj)), warn))
        return
    found = _begin(strategy, obj)
    _complete(served, obj, found if type(found) is list else await all_found(found), warn)


def _begin(strategy: Strategy, obj: Obj) -> Iterable[FieldError | None]:
    strategy.prepare_for_create(obj)
    return strategy.validate(obj)


def _complete(served: Served, obj: Obj, own: list[FieldError], warn: Callable[[str], None]) -> None:
    resource, strategy = served.resource, served.resource.strategy
    errors = creation_errors(resource, obj, own)
    if errors:
        name = obj["metadata"].get("name") or ""
        raise status.invalid(resource.storage_gvk.group, resource.kind, name, errors)
    for warning in strategy.warnings(obj):
        warn(warning)
    strategy.canonicalize(obj)


def _names_revision(meta: Obj) -> bool:
    """Whether a new object claims to have a revision; what is no number claims none, as upstream reads it, and goes."""
    try:
        revision = parse_revision(meta)
    except APIError:
        revision = 0
    meta.pop("resourceVersion", None)
    return revision != 0


async def _require_absent(served: Served, key: Key) -> None:
    try:
        entry = await served.storage.get(key, CONSISTENT)
    except KeyNotFound:
        return
    raise KeyExists(entry.key, revision=entry.mod_revision)


async def _already_exists(served: Served, key: Key, obj: Obj) -> APIError:
    """The 409: says whether the name was to be generated and whether the one that holds it is being deleted."""
    error = status.already_exists(served.gr, key.name)
    if obj["metadata"].get("generateName"):
        message = f"{error.message}, the server was not able to generate a unique name for the object"
        error = APIError(409, "AlreadyExists", message, details=error.details, retry_after_seconds=1)
    try:
        entry = await served.storage.get(key, CONSISTENT)
        holder = await served.storage.decode(entry, served.version.name)
    except StorageError:
        return error  # gone again, or unreadable: the name was taken all the same
    if metadata(holder).get("deletionTimestamp"):
        error = APIError(
            409,
            "AlreadyExists",
            f"object is being deleted: {error.message}",
            details=error.details,
            retry_after_seconds=error.retry_after_seconds,
        )
    return error
