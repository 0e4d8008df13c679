"""PUT of one object or subresource: replace."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata, uid
from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import decode_in_steps, read_body, read_document
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
from controlplane.client.negotiation import Answer
from controlplane.client.request import Request, Response
from controlplane.storage.cache.slices import Slices

__all__ = ["update"]


async def update(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Replace an object by the body.

    Raises:
        APIError: a body that cannot be read, is another kind or has another name; bad options; and all that the
            registry refuses.
    """
    slices = Slices()
    raw = await read_body(request)  # too long before badly asked for, and that before of the wrong type
    options = write_options(request.query, "UpdateOptions")
    document = await read_document(request, target.served)
    served = target.served
    if served.resource.strategy.load is not None:
        await make_ready(services, served, raw)
    warn = request.warnings.append
    decoded = await decode_in_steps(document, served, options.field_validation, warn)
    if slices.due():  # a large object: decoding it was a slice of its own, and so is its validation
        await slices.rest()
    ensure_namespace(metadata(decoded), target.namespace)
    check_name(decoded, target.name)
    deduplicate_owners(metadata(decoded), warn, after_admission=False)
    expected_uid = uid(decoded)
    first: Obj | None = decoded
    fields = field_manager(served, target.subresource, services.registry.now)
    manager = manager_name(options, request)
    admission = Admission(services, request, target, options.to_obj("UpdateOptions"), dry_run=options.dry_run)

    async def produce(old: Obj | None) -> Obj:
        nonlocal first
        obj, first = first, None
        if obj is None:  # an attempt before this one has changed the object: begin again from the body
            obj = await decode_in_steps(document, served, "Ignore", warn)
            deduplicate_owners(metadata(obj), _silent, after_admission=False)
        await with_forms(served.resource, lambda: fields.update(old, obj, manager))
        if slices.due():
            await slices.rest()
        await admission.mutate(Operation.UPDATE if old is not None else Operation.CREATE, obj, old)
        deduplicate_owners(metadata(obj), warn, after_admission=True)
        return obj

    written = await registry_update(
        services.registry,
        Update(
            served=served,
            strategy=target.strategy,
            key=target.key,
            produce=produce,
            admit_create=admission.validate_create_on_update(),
            admit_update=admission.validate_update(),
            warn=warn,
            uid=expected_uid,
            allow_create=target.subresource is None and target.strategy.create_on_update,
            dry_run=options.dry_run,
        ),
    )
    return await respond_written(services, request, served, written, answer)


def _silent(_warning: str) -> None:
    """Drops a warning that the first attempt has given."""
