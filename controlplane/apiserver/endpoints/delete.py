"""DELETE of one object."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import read_delete_options
from controlplane.apiserver.endpoints.respond import respond_entry, respond_object
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.delete import delete as registry_delete
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.apiserver.registry.settings import Deleted
from controlplane.client.encoding import respond_value
from controlplane.client.negotiation import Answer
from controlplane.client.request import Request, Response

__all__ = ["delete", "options_object"]


async def delete(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Delete an object: a Status if it is gone, the object if something holds it, or if its kind has it so.

    Raises:
        APIError: bad options, and all that the registry refuses.
    """
    options = await read_delete_options(request)
    admission = Admission(services, request, target, options_object(options), dry_run=options.dry_run)
    deleted = await registry_delete(
        services.registry, target.served, target.key, options, admit=admission.validate_delete(target.name)
    )
    if deleted.gone and not target.served.resource.strategy.returns_deleted:
        return respond_value(request, _gone(target, deleted), answer)
    code = 202 if options.orphan_dependents is False and not deleted.gone else 200
    if deleted.entry is not None:
        return await respond_entry(services, request, target.served, deleted.entry, answer, code=code)
    assert deleted.obj is not None
    return respond_object(services, request, target.served, deleted.obj, answer, code=code)


def options_object(options: DeleteRequest) -> Obj:
    """The options as admission plugins see them."""
    obj: Obj = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        obj["dryRun"] = ["All"]
    given = {
        "gracePeriodSeconds": options.grace_period_seconds,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation_policy,
    }
    obj.update({name: value for name, value in given.items() if value is not None})
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    if any(value is not None for value in preconditions.values()):
        obj["preconditions"] = {name: value for name, value in preconditions.items() if value is not None}
    return obj


def _gone(target: Target, deleted: Deleted) -> Obj:
    details = {"name": target.name, "group": target.served.gvr.group, "kind": target.served.gvr.resource}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in {**details, "uid": deleted.uid}.items() if value},
    }
