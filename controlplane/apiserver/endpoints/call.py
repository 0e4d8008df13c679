"""POST to what is not stored: decode, admit, let it be answered.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/create.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import read_object
from controlplane.apiserver.endpoints.calls import Call, CallKey
from controlplane.apiserver.endpoints.managers import manager_name
from controlplane.apiserver.endpoints.options import write_options
from controlplane.apiserver.endpoints.respond import respond_object
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.field_managers import field_manager
from controlplane.apiserver.registry.metadata import deduplicate_owners, ensure_namespace, wipe_system_fields
from controlplane.apiserver.registry.table import Served
from controlplane.client.negotiation import Answer
from controlplane.client.request import Request, Response

__all__ = ["call", "is_call"]


def is_call(target: Target) -> bool:
    """Whether what is created there is answered and not kept."""
    if target.subresource is None:
        return not target.served.resource.stored
    return target.subresource.request is not None


async def call(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Answer a call.

    Raises:
        APIError: a body that cannot be read or is another kind, bad options, and all that the answerer refuses.
    """
    options = write_options(request.query, "CreateOptions")
    served, subresource = _taken(target), target.subresource
    obj = await read_object(request, served, options.field_validation)
    meta = metadata(obj)
    if subresource is None:
        wipe_system_fields(meta)
    ensure_namespace(meta, target.namespace)
    warn = request.warnings.append
    deduplicate_owners(meta, warn, after_admission=False)
    fields = field_manager(served, subresource, services.registry.now)
    fields.update(None, obj, manager_name(options, request))
    admission = Admission(services, request, target, options.to_obj("CreateOptions"), dry_run=options.dry_run)
    await admission.mutate(Operation.CREATE, obj, None)
    deduplicate_owners(metadata(obj), warn, after_admission=True)
    validate = admission.validate_create()

    async def admit(admitted: Obj) -> None:
        if validate is not None:
            await validate(admitted)

    resource = target.served.resource
    key = CallKey(resource.group, resource.plural, subresource.name if subresource is not None else "")
    answered = await services.calls[key].answer(
        obj, Call(user=request.user, namespace=target.namespace, name=target.name, admit=admit, warn=warn)
    )
    return respond_object(services, request, served, answered, answer, code=201)


def _taken(target: Target) -> Served:
    """The kind that is taken and answered, as if it were served."""
    if target.subresource is None:
        return target.served
    memo, name = target.served.memo, ("taken", target.subresource.name)
    served: Served | None = memo.get(name)
    if served is None:
        kind = target.subresource.request
        assert kind is not None
        served = memo[name] = Served(kind, kind.versions[0], None)
    return served
