"""PATCH of one object or subresource.

A patch is a change: it makes the new object from the stored one, again after each lost race unless the patch itself
names a resource version. Only an apply can make an object where there is none, and not by a part of it.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.status import APIError, conflict
from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import read_body
from controlplane.apiserver.endpoints.changes import Change, Edit
from controlplane.apiserver.endpoints.changes.apply import apply
from controlplane.apiserver.endpoints.changes.document import json_patch, merge_patch
from controlplane.apiserver.endpoints.changes.strategic import strategic_merge_patch
from controlplane.apiserver.endpoints.managers import manager_name
from controlplane.apiserver.endpoints.options import write_options
from controlplane.apiserver.endpoints.readiness import make_ready
from controlplane.apiserver.endpoints.respond import respond_written
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.field_managers import field_manager
from controlplane.apiserver.registry.metadata import check_name, deduplicate_owners, ensure_namespace
from controlplane.apiserver.registry.remote_forms import with_forms
from controlplane.apiserver.registry.update import Update
from controlplane.apiserver.registry.update import update as registry_update
from controlplane.client.negotiation import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Answer,
    patch_type,
)
from controlplane.client.request import Request, Response
from controlplane.storage.cache.slices import Slices

__all__ = ["patch", "read_change"]

CHANGES: dict[str, Callable[[Edit], Awaitable[Change]]] = {
    JSON_PATCH: json_patch,
    MERGE_PATCH: merge_patch,
    STRATEGIC_MERGE_PATCH: strategic_merge_patch,
    APPLY_PATCH: apply,
}


async def patch(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Change an object by a patch.

    Raises:
        APIError: a patch that cannot be read (400), is too long (413), does not fit (422), would take fields from
            others (409), or makes something that the registry refuses.
    """
    slices = Slices()
    served = target.served
    kind = patch_type(request.headers.get("Content-Type"), native=served.resource.native)
    is_apply = kind == APPLY_PATCH
    may_create = is_apply and not target.subresource
    raw = await read_body(request)  # too long before badly asked for
    if served.resource.strategy.load is not None:
        await make_ready(services, served, raw)
    options = write_options(request.query, "PatchOptions", apply=is_apply)
    warn = _once(request.warnings)
    edit = Edit(
        request=request,
        target=target,
        fields=field_manager(served, target.subresource, services.registry.now),
        manager=manager_name(options, request),
        options=options,
        warn=warn,
    )
    change = await read_change(kind, edit)
    admission = Admission(services, request, target, options.to_obj("UpdateOptions"), dry_run=options.dry_run)

    async def produce(old: Obj | None) -> Obj:
        obj = await with_forms(served.resource, lambda: change(old))
        if slices.due():  # a large object: its validation is a slice of its own
            await slices.rest()
        meta = metadata(obj)
        if old is None and meta.get("uid"):
            raise _no_such_uid(target, meta["uid"])
        ensure_namespace(meta, target.namespace)
        check_name(obj, target.name)
        await admission.mutate(Operation.CREATE if old is None else Operation.UPDATE, obj, old)
        deduplicate_owners(metadata(obj), warn, after_admission=True)
        return obj

    written = await registry_update(
        services.registry,
        Update(
            served=served,
            strategy=target.strategy,
            key=target.key,
            produce=produce,
            admit_create=admission.validate_create_on_update() if may_create else None,
            admit_update=admission.validate_update(),
            warn=warn,
            allow_create=may_create,
            dry_run=options.dry_run,
        ),
    )
    return await respond_written(services, request, served, written, answer)


async def read_change(kind: str, edit: Edit) -> Change:
    """What a patch of a type does. One that makes no sense is refused when it is applied, so by nothing that is not
    there.

    Raises:
        APIError: 413.
    """
    await read_body(edit.request)
    try:
        return await CHANGES[kind](edit)
    except APIError as error:
        refused = error

    def refuse(_old: Obj | None) -> Obj:
        raise refused

    return refuse


def _no_such_uid(target: Target, uid: str) -> APIError:
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return conflict(target.served.gr, target.name, why)


def _once(warnings: list[str]) -> Callable[[str], None]:
    """Adds a warning that is not there yet: a patch that is applied again finds the same things again."""

    def warn(text: str) -> None:
        if text not in warnings:
            warnings.append(text)

    return warn
