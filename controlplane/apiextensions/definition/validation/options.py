"""How strictly a definition is judged: a new one by all rules, a changed one by those that the stored one kept.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation`` (validationOptions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controlplane.apiextensions.definition.conditions import is_true
from controlplane.apiextensions.definition.validation.list_map_keys import list_map_key_errors
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.schema_defaults import has_unpruned_defaults
from controlplane.apimachinery.schema.structural import structural_errors, unsupported_keyword
from controlplane.base.values import dataclass
from controlplane.client.webhook.ca_bundle import ca_bundle_error

__all__ = ["TYPES", "Strictness", "known_schemas", "schemas_of", "some_schema", "strictness_of_update", "walk_schema"]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
"""What ``type`` may be in a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strictness:
    """Which rules hold. ``immutable_names``: the definition is established. ``allow_bad_ca_bundle``: a CA bundle that
    cannot be read is no error. ``crowded_fields``: versions (``""``: all) that may keep too many selectable fields.
    ``known_schemas``: versions (``""``: all) whose schema is as it was, so that its expressions are known to be good.
    ``expressions``: those of the schema at hand are looked at."""

    review_versions: bool = True
    immutable_names: bool = False
    schema: bool = True
    types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    list_map_keys: bool = True
    allow_bad_ca_bundle: bool = True
    crowded_fields: frozenset[str] = frozenset()
    known_schemas: frozenset[str] = frozenset()
    expressions: bool = True


def schemas_of(folded: Obj) -> Iterator[Obj]:
    """All whole schemas of a folded spec."""
    for holder in (folded.get("validation"), *(v.get("schema") for v in folded.get("versions") or ())):
        if holder and holder.get("openAPIV3Schema") is not None:
            yield holder["openAPIV3Schema"]


_SCHEMA_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "not", "items", "additionalProperties", "additionalItems"})
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "definitions", "dependencies"})


def walk_schema(schema: Obj) -> Iterator[Obj]:
    """A schema and all inside it."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        yield one
        for keyword, value in one.items():
            if keyword in _SCHEMAS_BY_NAME:
                waiting.extend(inner for inner in value.values() if type(inner) is dict)
            elif keyword in _SCHEMA_KEYWORDS:
                if type(value) is dict:
                    waiting.append(value)
                elif type(value) is list:
                    waiting.extend(value)


def some_schema(folded: Obj, holds: Callable[[Obj], bool]) -> bool:
    """Whether something is true of any schema of a folded spec, or inside one."""
    return any(holds(inner) for schema in schemas_of(folded) for inner in walk_schema(schema))


def strictness_of_update(old: Obj, old_folded: Obj, folded: Obj) -> Strictness:
    """How strictly a change of ``old`` is judged."""
    conversion = old_folded.get("conversion") or {}
    reviewed = conversion.get("conversionReviewVersions") or ()
    return Strictness(
        review_versions=not reviewed or any(version in ("v1", "v1beta1") for version in reviewed),
        immutable_names=is_true(old, "Established"),
        schema=_all_have_schemas(old_folded),
        types=not some_schema(old_folded, lambda s: bool(s.get("type")) and s["type"] not in TYPES),
        structural=not any(unsupported_keyword(s) or structural_errors(s, "") for s in schemas_of(old_folded)),
        atomic_sets=not some_schema(old_folded, _is_loose_set),
        list_map_keys=not some_schema(old_folded, lambda s: bool(list_map_key_errors(s, ""))),
        pruned_defaults=not any(has_unpruned_defaults(s) for s in schemas_of(old_folded)),
        allow_bad_ca_bundle=not is_true(old, "Established") or _has_bad_ca_bundle(conversion),
        crowded_fields=frozenset(_crowded(old_folded, folded)),
        known_schemas=frozenset(known_schemas(old_folded, folded)),
    )


def _has_bad_ca_bundle(conversion: Obj) -> bool:
    bundle = (conversion.get("webhookClientConfig") or {}).get("caBundle") or ""
    return bool(ca_bundle_error(bundle))


def _all_have_schemas(folded: Obj) -> bool:
    if (folded.get("validation") or {}).get("openAPIV3Schema") is not None:
        return True
    return all((v.get("schema") or {}).get("openAPIV3Schema") is not None for v in folded.get("versions") or ())


def _is_loose_set(schema: Obj) -> bool:
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, dict):
        return False
    if items.get("type") == "array":
        return bool(items.get("x-kubernetes-list-type", "atomic") != "atomic")
    return bool(items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic")


MAX_SELECTABLE_FIELDS = 8


def _crowded(old: Obj, new: Obj) -> Iterator[str]:
    def kept(before: Obj, after: Obj) -> bool:
        fields = before.get("selectableFields") or ()
        return len(fields) > MAX_SELECTABLE_FIELDS and fields == after.get("selectableFields")

    if kept(old, new):
        yield ""
    versions = {version.get("name"): version for version in old.get("versions") or ()}
    for version in new.get("versions") or ():
        before = versions.get(version.get("name"))
        if before is not None and kept(before, version):
            yield version["name"]


def known_schemas(old: Obj, new: Obj) -> Iterator[str]:
    """Versions whose schemas have not changed; upstream, too, does not hold the cost of their rules against them."""
    if old.get("validation") == new.get("validation"):
        yield ""
    versions = {version.get("name"): version for version in old.get("versions") or ()}
    for version in new.get("versions") or ():
        before = versions.get(version.get("name"))
        if before is not None and _schema(before, old) == _schema(version, new):
            yield version["name"]


def _schema(version: Obj, folded: Obj) -> Obj | None:
    return version.get("schema") or folded.get("validation")
