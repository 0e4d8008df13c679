"""Admission attributes of a request, and the admission phases as the callbacks that the registry takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata, set_field
from controlplane.apimachinery.patch.managed_fields import problem_of
from controlplane.apimachinery.status import internal_error
from controlplane.apiserver.admission.api import Attributes, Hook, Operation
from controlplane.apiserver.authorization.api import Decision, attributes_of
from controlplane.apiserver.authorization.messages import forbidden_error
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.client.request import Request

__all__ = ["Admission", "creates_at_will"]

_SPOILT = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: {}"
)


def creates_at_will(services: Services, target: Target) -> bool:
    """Whether nobody would look at an object that is created there, or change it."""
    served, subresource = target.served, target.subresource
    chain, resource = services.admission, served.gvr
    name = subresource.name if subresource is not None else ""
    looked_at = not name and (served.gr in services.guards or served.gr in services.checks)
    if looked_at or chain.validates(Operation.CREATE, resource, name):
        return False
    return chain.accepts(Operation.CREATE, resource, name, target.namespace)


class Admission:
    """The admission of one request: ``options`` is what plugins see as the operation's options."""

    __slots__ = ("_dry_run", "_options", "_place", "_request", "_services", "_target")

    def __init__(
        self, services: Services, request: Request, target: Target, options: Mapping[str, Any], *, dry_run: bool
    ) -> None:
        self._services, self._request, self._target = services, request, target
        self._options, self._dry_run = options, dry_run
        subresource = target.subresource
        self._place = (target.served.gvr, subresource.name if subresource is not None else "")

    async def mutate(self, operation: Operation, obj: Obj, old: Obj | None) -> None:
        """Run the mutating phase on a new object, and then the guard of its kind. If the phase leaves unusable managed
        fields, those from before are put back, with a warning."""
        services, target = self._services, self._target
        if not services.admission.accepts(operation, *self._place, target.namespace):
            before = obj["metadata"].get("managedFields")
            await services.admission.mutate(self._attributes(operation, obj, old))
            after = metadata(obj).get("managedFields")
            if after is not before and (problem := problem_of(after)):
                set_field(obj, "managedFields", before)
                self._request.warnings.append(_SPOILT.format(problem))
        if services.guards and target.subresource is None:
            guard = services.guards.get(target.served.gr)
            if guard is not None:
                await guard(self._attributes(operation, obj, old), target.name)

    def validate_create(self) -> Callable[[Obj], Awaitable[None]] | None:
        """The validating phase of a create, or None if nobody looks."""
        look = self._looks(Operation.CREATE)
        if look is None:
            return None

        async def validate(obj: Obj) -> None:
            await look(self._attributes(Operation.CREATE, obj, None))

        return validate

    def validate_create_on_update(self) -> Callable[[Obj], Awaitable[None]]:
        """The same where an update creates: the user must then be allowed to create, too."""
        validate = self.validate_create()

        async def authorized(obj: Obj) -> None:
            await self._authorize_create()
            if validate is not None:
                await validate(obj)

        return authorized

    def validate_update(self) -> Callable[[Obj, Obj], Awaitable[None]] | None:
        look = self._looks(Operation.UPDATE)
        if look is None:
            return None

        async def validate(obj: Obj, old: Obj) -> None:
            await look(self._attributes(Operation.UPDATE, obj, old))

        return validate

    def validate_delete(self, name: str) -> Callable[[Obj], Awaitable[None]] | None:
        """Both phases of the deletion of one object; ``name`` is the request's (``""``: that of a collection). A state
        that has been admitted is not asked about again."""
        chain, place = self._services.admission, self._place
        if not (chain.mutates(Operation.DELETE, *place) or chain.validates(Operation.DELETE, *place)):
            return None
        admitted: set[tuple[str, str]] = set()

        async def validate(old: Obj) -> None:
            state = (old["metadata"].get("uid") or "", old["metadata"]["resourceVersion"])
            if state in admitted:
                return
            attributes = self._attributes(Operation.DELETE, None, old)
            attributes.name = name
            await chain.mutate(attributes)
            await chain.validate(attributes)
            admitted.add(state)

        return validate

    def _looks(self, operation: Operation) -> Hook | None:
        """Who looks at valid objects: the check of their kind, then the validating phase."""
        services, target = self._services, self._target
        chain = services.admission
        check = services.checks.get(target.served.gr) if target.subresource is None else None
        phase = chain.validate if chain.validates(operation, *self._place) else None
        if check is None or phase is None:
            return check or phase

        async def both(a: Attributes) -> None:
            await check(a)
            await phase(a)

        return both

    def _attributes(self, operation: Operation, obj: Obj | None, old: Obj | None) -> Attributes:
        request, options = self._request, self._options
        served, _, namespace, name, subresource = self._target
        if not name and obj is not None:
            name = obj["metadata"].get("name") or ""
        if not namespace and served.gr == ("", "namespaces"):
            namespace = name
        if operation is Operation.CREATE and options["kind"] != "CreateOptions":
            options = {**options, "kind": "CreateOptions"}  # an update or an apply that creates
        other = subresource.kind if subresource is not None else None
        return Attributes(
            operation=operation,
            kind=served.gvk if other is None else other.storage_gvk,
            resource=served.gvr,
            subresource=self._place[1],
            namespace=namespace,
            name=name,
            obj=obj,
            old=old,
            user=request.user,
            dry_run=self._dry_run,
            options=options,
            warn=request.warnings.append,
            annotate=request.annotate,
        )

    async def _authorize_create(self) -> None:
        authorizer = self._services.authorizer
        if authorizer is None:
            raise internal_error("no authorizer provided, unable to authorize a create on update")
        attributes = attributes_of(self._request.user, self._request.info)._replace(verb="create")
        decision, why = await authorizer.authorize(attributes)
        if decision is not Decision.ALLOW:
            raise forbidden_error(attributes, why)
