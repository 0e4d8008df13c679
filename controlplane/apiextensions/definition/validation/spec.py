"""The ``spec`` of a definition, in its stored form.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``
(validateCustomResourceDefinitionSpec).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from controlplane.apiextensions.definition.validation.conversion import conversion_errors
from controlplane.apiextensions.definition.validation.in_go import version_in_go
from controlplane.apiextensions.definition.validation.options import Strictness, schemas_of, some_schema
from controlplane.apiextensions.definition.validation.parts import (
    column_errors,
    deprecation_errors,
    names_errors,
    selectable_field_errors,
    subresource_errors,
)
from controlplane.apiextensions.definition.validation.schema_rules import validation_errors
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_immutable
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_subdomain

__all__ = ["spec_errors", "spec_update_errors"]

_SCOPES = ["Cluster", "Namespaced"]
_SHARED = (
    ("validation", "schema", "schemas"),
    ("subresources", "subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"),
)
_EXTENSIONS = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
)


def spec_errors(spec: Obj, strictness: Strictness) -> Iterator[FieldError | None]:
    """What is wrong with a spec; None where there may be a break."""
    group = spec.get("group") or ""
    if not group:
        yield required("spec.group")
    elif problems := dns1123_subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield not_supported("spec.scope", scope, _SCOPES)
    keeps_unknown = bool(spec.get("preserveUnknownFields"))
    yield from _missing_schemas(spec, strictness, keeps_unknown=keeps_unknown)
    strictness = _with_structure(spec, strictness, keeps_unknown=keeps_unknown)
    if keeps_unknown and some_schema(spec, lambda schema: schema.get("default") is not None):
        yield invalid("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema")
    yield from _versions(spec, strictness)
    names = spec.get("names") or {}
    for key in ("plural", "singular", "kind", "listKind"):
        if not names.get(key):
            yield required(f"spec.names.{key}")
    yield from names_errors(names, "spec.names")
    has_status = any(
        (holder.get("subresources") or {}).get("status") is not None for holder in (spec, *(spec.get("versions") or ()))
    )
    shared = replace(strictness, expressions="" not in strictness.known_schemas)
    yield from validation_errors(spec.get("validation"), "spec.validation", shared, has_status=has_status)
    yield from subresource_errors(spec.get("subresources"), "spec.subresources")
    for i, column in enumerate(spec.get("additionalPrinterColumns") or ()):
        yield from column_errors(column, f"spec.additionalPrinterColumns[{i}]")
    if fields := spec.get("selectableFields"):
        schema = (spec.get("validation") or {}).get("openAPIV3Schema")
        if schema is None:
            yield invalid("spec.selectableFields", "", "may only be set when validations.schema is included")
        else:
            may_crowd = "" in strictness.crowded_fields
            yield from selectable_field_errors(fields, schema, "spec.selectableFields", may_crowd=may_crowd)
    conversion = spec.get("conversion")
    if conversion is not None and conversion.get("strategy") != "None" and keeps_unknown:
        why = "must be None if spec.preserveUnknownFields is true"
        yield invalid("spec.conversion.strategy", conversion.get("strategy") or "", why)
    yield from conversion_errors(conversion, "spec.conversion", strictness)


def spec_update_errors(spec: Obj, old: Obj, strictness: Strictness) -> Iterator[FieldError | None]:
    """What is wrong with a spec, and with its change; None where there may be a break."""
    yield from spec_errors(spec, strictness)
    names, old_names = spec.get("names") or {}, old.get("names") or {}
    if strictness.immutable_names:
        yield from _immutable(spec.get("scope"), old.get("scope"), "spec.scope")
        yield from _immutable(names.get("kind"), old_names.get("kind"), "spec.names.kind")
    yield from _immutable(spec.get("group"), old.get("group"), "spec.group")
    yield from _immutable(names.get("plural"), old_names.get("plural"), "spec.names.plural")


def _immutable(value: Any, old: Any, path: str) -> list[FieldError]:
    return validate_immutable(value or "", old or "", path) if (value or "") != (old or "") else []


def _missing_schemas(spec: Obj, strictness: Strictness, *, keeps_unknown: bool) -> Iterator[FieldError]:
    if (spec.get("validation") or {}).get("openAPIV3Schema") is not None:
        return
    for i, version in enumerate(spec.get("versions") or ()):
        if (version.get("schema") or {}).get("openAPIV3Schema") is not None:
            continue
        at = f"spec.versions[{i}].schema.openAPIV3Schema"
        if strictness.schema:
            yield required(at)
        elif not keeps_unknown and version.get("served"):
            yield required(at, "because otherwise all fields are pruned")


def _with_structure(spec: Obj, strictness: Strictness, *, keeps_unknown: bool) -> Strictness:
    """Pruning, defaults and extensions need structural schemas, whatever was tolerated before."""
    needs = not keeps_unknown or any(
        some_schema(spec, lambda s: s.get("default") is not None or any(s.get(key) for key in _EXTENSIONS))
        for _ in schemas_of(spec)
    )
    return replace(strictness, structural=True) if needs else strictness


def _versions(spec: Obj, strictness: Strictness) -> Iterator[FieldError | None]:
    versions = spec.get("versions") or []
    per_version = any(version.get("subresources") is not None for version in versions)
    for i, version in enumerate(versions):
        path = f"spec.versions[{i}]"
        if problems := dns1035_label(version.get("name") or ""):
            yield invalid(f"{path}.name", version.get("name") or "", ",".join(problems))
        subresources = version.get("subresources") if per_version else spec.get("subresources")
        yield from _version(version, path, strictness, has_status=(subresources or {}).get("status") is not None)
    for shared, own, _ in _SHARED:
        if spec.get(shared) is not None and any(version.get(own) is not None for version in versions):
            plural = "schemas" if own == "schema" else own
            yield forbidden(f"spec.{shared}", f"top-level and per-version {plural} are mutually exclusive")
    shown = None if spec.get("versions") is None else [version_in_go(version) for version in versions]
    names = [version.get("name") for version in versions]
    if len(set(names)) != len(names):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    first = spec.get("version") or ""
    if first and (problems := dns1035_label(first)):
        yield invalid("spec.version", first, ",".join(problems))


def _version(version: Obj, path: str, strictness: Strictness, *, has_status: bool) -> Iterator[FieldError | None]:
    yield from deprecation_errors(version, path)
    strictness = replace(strictness, expressions=version.get("name") not in strictness.known_schemas)
    yield from validation_errors(version.get("schema"), f"{path}.schema", strictness, has_status=has_status)
    yield from subresource_errors(version.get("subresources"), f"{path}.subresources")
    for i, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from column_errors(column, f"{path}.additionalPrinterColumns[{i}]")
    if fields := version.get("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            why = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid(f"{path}.selectableFields", "", why)
        else:
            may_crowd = version.get("name") in strictness.crowded_fields
            yield from selectable_field_errors(fields, schema, f"{path}.selectableFields", may_crowd=may_crowd)
