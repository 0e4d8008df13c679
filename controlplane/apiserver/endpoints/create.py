"""POST to a collection: create."""

from __future__ import annotations

import asyncio

from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission, creates_at_will
from controlplane.apiserver.endpoints.body import (
    LARGE_BYTES,
    Document,
    check_body_type,
    decode_object,
    read_body,
    read_object,
)
from controlplane.apiserver.endpoints.managers import manager_name
from controlplane.apiserver.endpoints.options import write_options
from controlplane.apiserver.endpoints.readiness import make_ready
from controlplane.apiserver.endpoints.respond import respond_written
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry import create as registry
from controlplane.apiserver.registry.field_managers import field_manager
from controlplane.apiserver.registry.metadata import deduplicate_owners, ensure_namespace, wipe_system_fields
from controlplane.apiserver.registry.remote_forms import with_forms
from controlplane.client.negotiation import JSON, Answer
from controlplane.client.request import Request, Response

__all__ = ["create"]


async def create(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Create an object from the body.

    Raises:
        APIError: a body that cannot be read or is another kind, bad options, and all that the registry refuses.
    """
    check_body_type(request)
    raw = await read_body(request)  # too long before badly asked for
    is_large = len(raw) >= LARGE_BYTES
    options = write_options(request.query, "CreateOptions")
    served = target.served
    if served.resource.strategy.load is not None:
        await make_ready(services, served, raw)
    warn = request.warnings.append
    if is_large or request.headers.get("Content-Type") != JSON:
        obj = await read_object(request, served, options.field_validation)
    else:
        obj = decode_object(Document(raw, ()), served, options.field_validation, warn)
    if is_large:  # decoding it was a slice of its own, and so is its validation
        await asyncio.sleep(0)
    meta = obj["metadata"]
    wipe_system_fields(meta)
    ensure_namespace(meta, target.namespace)
    deduplicate_owners(meta, warn, after_admission=False)
    fields = field_manager(served, target.subresource, services.registry.now)
    manager = manager_name(options, request)
    if is_large or served.resource.fetch_form is not None:
        await with_forms(served.resource, lambda: fields.update(None, obj, manager))
        await asyncio.sleep(0)
    else:
        fields.update(None, obj, manager)
    admit: registry.Admit | None = None
    if not creates_at_will(services, target):
        admission = Admission(services, request, target, options.to_obj("CreateOptions"), dry_run=options.dry_run)
        await admission.mutate(Operation.CREATE, obj, None)
        deduplicate_owners(obj["metadata"], warn, after_admission=True)
        admit = admission.validate_create()
    record_user = served.resource.strategy.record_user
    if record_user is not None:
        record_user(obj, request.user)
    written = await registry.create(
        services.registry,
        served,
        target.namespace,
        obj,
        admit=admit,
        dry_run=options.dry_run,
        warn=warn,
    )
    return await respond_written(services, request, served, written, answer)
