"""Subresources of another kind than their object's (scale): read, replaced and patched in that kind, stored in the
object.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresource/etcd.go`` (ScaleREST).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import managed_fields, metadata, set_field, uid
from controlplane.apimachinery.patch.managed_fields import FieldManager
from controlplane.apimachinery.patch.projected_fields import object_entries, shown_entries
from controlplane.apimachinery.resource import Projection
from controlplane.apimachinery.status import not_found
from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import decode_object, read_document
from controlplane.apiserver.endpoints.changes import Edit
from controlplane.apiserver.endpoints.managers import manager_name
from controlplane.apiserver.endpoints.options import WriteOptions, write_options
from controlplane.apiserver.endpoints.patch import read_change
from controlplane.apiserver.endpoints.respond import respond_object
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.field_managers import field_manager
from controlplane.apiserver.registry.metadata import check_name, ensure_namespace
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import translate
from controlplane.apiserver.registry.update import Update
from controlplane.apiserver.registry.update import update as registry_update
from controlplane.client.negotiation import APPLY_PATCH, Answer, patch_type
from controlplane.client.request import Request, Response
from controlplane.storage.api import CONSISTENT
from controlplane.storage.errors import StorageError

__all__ = ["PROJECTED_VERBS"]

MakeShown = Callable[[Obj], Awaitable[Obj]]
"""From what is shown of the stored object to what is to be shown of the new one."""


async def _get(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    served = target.served
    try:
        entry = await served.storage.get(target.key, CONSISTENT)
        obj = await served.storage.decode(entry, served.version.name)
    except StorageError as error:
        raise translate(error, served.gr, target.name, "get") from error
    obj["metadata"]["resourceVersion"] = str(entry.mod_revision)
    return respond_object(services, request, _shown_kind(target), _projection(target).show(obj), answer)


async def _update(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    kind = _shown_kind(target)
    document = await read_document(request, kind)
    options = write_options(request.query, "UpdateOptions")
    shown = decode_object(document, kind, options.field_validation, request.warnings.append)
    _check_head(shown, target)

    fields = _field_manager(services, target)
    manager = manager_name(options, request)

    async def make(old: Obj) -> Obj:
        fields.update(old, shown, manager)
        return shown

    return await _write(services, request, target, answer, options, make=make, expected_uid=uid(shown))


async def _patch(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    kind = _shown_kind(target)
    media_type = patch_type(request.headers.get("Content-Type"), native=False)
    options = write_options(request.query, "PatchOptions", apply=media_type == APPLY_PATCH)
    edit = Edit(
        request=request,
        target=target._replace(served=kind, subresource=None),
        fields=_field_manager(services, target),
        manager=manager_name(options, request),
        options=options,
        warn=request.warnings.append,
    )
    change = await read_change(media_type, edit)

    async def make(old: Obj) -> Obj:
        shown = change(old)
        _check_head(shown, target)
        return shown

    return await _write(services, request, target, answer, options, make=make)


PROJECTED_VERBS: dict[str, Callable[[Services, Request, Target, Answer], Awaitable[Response]]] = {
    "get": _get,
    "update": _update,
    "patch": _patch,
}


async def _write(
    services: Services,
    request: Request,
    target: Target,
    answer: Answer,
    options: WriteOptions,
    *,
    make: MakeShown,
    expected_uid: str = "",
) -> Response:
    served, projection = target.served, _projection(target)
    admission = Admission(services, request, target, options.to_obj("UpdateOptions"), dry_run=options.dry_run)
    validate = admission.validate_update()

    async def produce(old: Obj | None) -> Obj:
        if old is None:
            raise not_found(served.gr, target.name)
        before = projection.show_for_change(old)
        owners = old["metadata"].get("managedFields") or ()
        set_field(before, "managedFields", shown_entries(owners, projection.field))
        shown = await make(before)
        await admission.mutate(Operation.UPDATE, shown, before)
        merged = projection.merge(shown, old)
        entries = object_entries(owners, managed_fields(shown), projection.field, served.gvk.api_version)
        set_field(merged, "managedFields", entries)
        return merged

    async def admit(obj: Obj, old: Obj) -> None:
        if validate is not None:
            await validate(projection.show_for_change(obj), projection.show_for_change(old))

    written = await registry_update(
        services.registry,
        Update(
            served=served,
            strategy=target.strategy,
            key=target.key,
            produce=produce,
            admit_create=None,
            admit_update=admit,
            warn=request.warnings.append,
            uid=expected_uid,
            dry_run=options.dry_run,
        ),
    )
    if written.entry is not None:
        obj: Any = await served.storage.decode(written.entry, served.version.name)
        obj["metadata"]["resourceVersion"] = str(written.entry.mod_revision)
    else:
        obj = written.obj
    return respond_object(services, request, _shown_kind(target), projection.show(obj), answer)


def _projection(target: Target) -> Projection:
    assert target.subresource is not None
    assert target.subresource.projection is not None
    return target.subresource.projection


def _shown_kind(target: Target) -> Served:
    """The kind that is shown, as if it were served."""
    kind: Served | None = target.served.memo.get("projected")
    if kind is None:
        resource = _projection(target).resource
        kind = Served(resource, resource.versions[0], target.served.storage)
        target.served.memo["projected"] = kind
    return kind


def _field_manager(services: Services, target: Target) -> FieldManager:
    """Keeps the managed fields of what is shown, in its own terms: those of the object are made from them."""
    return field_manager(_shown_kind(target), target.subresource, services.registry.now)


def _check_head(shown: Obj, target: Target) -> None:
    """Require the name and namespace of the URL.

    Raises:
        APIError: 400.
    """
    ensure_namespace(metadata(shown), target.namespace)
    check_name(shown, target.name)
