"""A whole definition: new, changed, and its status changed.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiextensions.definition.conditions import is_true
from controlplane.apiextensions.definition.storage_form import fold
from controlplane.apiextensions.definition.validation.approval import approval_errors
from controlplane.apiextensions.definition.validation.options import Strictness, known_schemas, strictness_of_update
from controlplane.apiextensions.definition.validation.parts import names_errors
from controlplane.apiextensions.definition.validation.spec import spec_errors, spec_update_errors
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_dns_subdomain

__all__ = ["definition_errors", "definition_update_errors", "status_update_errors"]


def definition_errors(obj: Obj) -> Iterator[FieldError | None]:
    """Everything that is wrong with a new definition; None where there may be a break."""
    spec = obj["spec"]

    def validate_name(name: str, prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of Strategy.validate_name
        names = spec.get("names") or {}
        problems = name_is_dns_subdomain(name, prefix)
        if name != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
            problems.append('must be spec.names.plural+"."+spec.group')
        return problems

    yield from validate_object_meta(obj["metadata"], namespaced=False, validate_name=validate_name)
    yield from spec_errors(fold(spec), Strictness())
    yield from _status_errors(obj)
    yield from _stored_versions_errors(obj)
    yield from approval_errors(obj, None)
    yield from _kept_unknown_errors(obj, None)


def definition_update_errors(obj: Obj, old: Obj) -> Iterator[FieldError | None]:
    """Everything that is wrong with a changed definition; None where there may be a break."""
    yield from validate_object_meta_update(obj["metadata"], old["metadata"])
    folded, old_folded = fold(obj["spec"]), fold(old["spec"])
    if folded != old_folded:
        yield from _spec_change_errors(folded, old_folded, old)
    yield from _status_errors(obj)
    yield from _stored_versions_errors(obj)
    yield from approval_errors(obj, old)
    yield from _kept_unknown_errors(obj, old)


def _spec_change_errors(folded: Obj, old_folded: Obj, old: Obj) -> Iterator[FieldError | None]:
    """What may stay because it was there before is only looked for if something is wrong by all rules."""
    by_all = Strictness(
        immutable_names=is_true(old, "Established"),
        allow_bad_ca_bundle=False,
        known_schemas=frozenset(known_schemas(old_folded, folded)),
    )
    errors = []
    for error in spec_update_errors(folded, old_folded, by_all):
        if error is None:
            yield None
        else:
            errors.append(error)
    if errors:
        yield None
        yield from spec_update_errors(folded, old_folded, strictness_of_update(old, old_folded, folded))


def status_update_errors(obj: Obj, old: Obj) -> list[FieldError]:
    """Everything that is wrong with a changed status."""
    return [*validate_object_meta_update(obj["metadata"], old["metadata"]), *_status_errors(obj)]


def _status_errors(obj: Obj) -> Iterator[FieldError]:
    return names_errors((obj.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _stored_versions_errors(obj: Obj) -> Iterator[FieldError]:
    path = "status.storedVersions"
    stored = (obj.get("status") or {}).get("storedVersions") or None
    if stored is None:
        yield invalid(path, None, "must have at least one stored version")
        return
    versions = obj["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version["name"] not in stored:
            yield invalid(path, stored, f"must have the storage version {version['name']}")
    names = {version["name"] for version in versions}
    for i, name in enumerate(stored):
        if name not in names:
            yield invalid(
                f"{path}[{i}]",
                name,
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions",
            )


def _kept_unknown_errors(obj: Obj, old: Obj | None) -> Iterator[FieldError]:
    if obj["spec"].get("preserveUnknownFields") and not (old is not None and old["spec"].get("preserveUnknownFields")):
        yield invalid(
            "spec.preserveUnknownFields",
            True,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        )
