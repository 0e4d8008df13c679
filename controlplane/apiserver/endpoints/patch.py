"""PATCH of one object or subresource: JSON patch and merge patch.

The patch is applied to the object as it is stored, and again after each lost race unless the patch itself names a
resource version.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import apply_json_patch
from controlplane.apimachinery.patch.merge_patch import apply_merge_patch
from controlplane.apimachinery.status import APIError, bad_request, not_found, request_entity_too_large
from controlplane.apiserver.admission.api import Operation
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import decode_patched, parse_json, read_body
from controlplane.apiserver.endpoints.options import write_options
from controlplane.apiserver.endpoints.respond import respond_written
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.metadata import check_name, deduplicate_owners, ensure_namespace
from controlplane.apiserver.registry.update import Update
from controlplane.apiserver.registry.update import update as registry_update
from controlplane.client.negotiation import JSON_PATCH, Answer, patch_type
from controlplane.client.request import Request, Response

__all__ = ["patch", "patch_function"]

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})


async def patch(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Change an object by a patch.

    Raises:
        APIError: a patch that cannot be read (400), is too long (413), does not fit (422), or makes something that the
            registry refuses.
    """
    kind = patch_type(request.headers.get("Content-Type"))
    raw = await read_body(request)
    options = write_options(request.query, "PatchOptions")
    value, problems = parse_json(raw)
    if kind == JSON_PATCH:
        problems = [f"json patch {problem}" for problem in [*problems, *_unknown_members(value)]]
    apply = patch_function(kind, value)
    served = target.served
    warn = _once(request.warnings)
    admission = Admission(services, request, target, options.to_obj("UpdateOptions"), dry_run=options.dry_run)

    async def produce(old: Obj | None) -> Obj:
        if old is None:
            raise not_found(served.gr, target.name)
        obj = decode_patched(apply(old), served, problems, options.field_validation, warn)
        ensure_namespace(obj["metadata"], target.namespace)
        check_name(obj, target.name)
        await admission.mutate(Operation.UPDATE, obj, old)
        deduplicate_owners(metadata(obj), warn, after_admission=True)
        return obj

    written = await registry_update(
        services.registry,
        Update(
            served=served,
            strategy=target.strategy,
            key=target.key,
            produce=produce,
            admit_create=None,
            admit_update=admission.validate_update(),
            warn=warn,
            dry_run=options.dry_run,
        ),
    )
    return await respond_written(services, request, served, written, answer)


def patch_function(kind: str, value: Any) -> Callable[[Obj], Obj]:
    """How the patch changes an object: the result is the caller's, sharing nothing with the object or the patch."""
    apply = apply_json_patch if kind == JSON_PATCH else apply_merge_patch

    def applied(old: Obj) -> Obj:
        try:
            changed = apply(old, value)
        except MalformedPatch as error:
            raise bad_request(f"error decoding patch: {error}") from error
        except TooManyOperations as error:
            raise request_entity_too_large(str(error)) from error
        except PatchNotApplicable as error:
            text = "the server rejected our request due to an error in our request"
            raise APIError(422, "Invalid", text, details={}) from error  # upstream does not say why, either
        copy: Obj = loads(dumps(changed))
        return copy

    return applied


def _unknown_members(operations: Any) -> list[str]:
    """Members that operations of a JSON patch have and should not, as strict decoding words them."""
    if not isinstance(operations, list):
        return []
    return [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]


def _once(warnings: list[str]) -> Callable[[str], None]:
    """Adds a warning that is not there yet: a patch that is applied again finds the same things again."""

    def warn(text: str) -> None:
        if text not in warnings:
            warnings.append(text)

    return warn
