"""What a schema of a definition may say, beyond being structural.

Errors are in document order; where upstream goes through a map, it has none.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``
(ValidateCustomResourceDefinitionOpenAPISchema).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from controlplane.apiextensions.definition.validation.in_go import items_in_go, schema_in_go
from controlplane.apiextensions.definition.validation.list_map_keys import list_map_key_errors
from controlplane.apiextensions.definition.validation.options import TYPES, Strictness, walk_schema
from controlplane.apiextensions.definition.validation.rules import rule_errors
from controlplane.apiextensions.rules.loading import language_steps
from controlplane.apiextensions.rules.presence import has_rules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.nodes import META_FIELDS
from controlplane.apimachinery.schema.plain import plain_steps
from controlplane.apimachinery.schema.schema_defaults import RuleCheck, default_findings
from controlplane.apimachinery.schema.structural import says_something, structural_findings, unsupported_keyword
from controlplane.apimachinery.validation.field import (
    ENOUGH_ERRORS,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)
from controlplane.base.values import dataclass
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["validation_errors"]

_ROOT_KEYWORDS = frozenset(
    {
        "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
        "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items",
        "properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
    }
)  # fmt: skip
_ROOT_FIELDS = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations]"
)


@dataclass(frozen=True, slots=True)
class _Context:
    """``plain``: the parts of the schema that need not be looked at. ``no_default``: why defaults are not allowed here,
    None where they are."""

    strictness: Strictness
    plain: frozenset[int]
    no_default: str | None = None
    in_meta: bool = False


def validation_errors(
    holder: Obj | None, path: str, strictness: Strictness, *, has_status: bool
) -> Iterator[FieldError | None]:
    """What is wrong with a ``schema`` or ``validation`` field; None where there may be a break. ``has_status``: the
    status has a path of its own, so it must be possible to validate it alone."""
    schema = (holder or {}).get("openAPIV3Schema")
    if schema is None:
        return
    at = f"{path}.openAPIV3Schema"
    yield from _compile_patterns(schema)
    if has_rules(schema):
        yield from language_steps()
    parts: set[int] = set()
    yield from plain_steps(schema, parts)
    plain, count, unsupported = frozenset(parts), 0, ""
    head = list(_root_errors(schema, at, path)) if has_status else []
    if schema.get("nullable"):
        head.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    yield from head
    if strictness.structural:
        unsupported = unsupported_keyword(schema, plain)
        yield None
        if not unsupported:
            for found in structural_findings(schema, at, plain):
                yield found
                count += found is not None
            if not count:
                rules = _default_rules() if has_rules(schema) else None
                pruned = strictness.pruned_defaults
                for found in default_findings(schema, at, pruned=pruned, plain=plain, rules=rules):
                    yield found
                    count += found is not None
    is_sound = strictness.structural and not unsupported and not count
    faults: list[str] = []
    for found in _schema_errors(schema, at, _Context(strictness, plain), is_root=True):
        yield found
        if found is not None:
            faults.append(found.field)
            if count + len(faults) >= ENOUGH_ERRORS:
                return
    if unsupported and not (faults or head):
        yield invalid(at, "", unsupported)
    if is_sound and strictness.expressions and has_rules(schema):
        from controlplane.apiextensions.rules.definition import expression_errors

        yield from expression_errors(schema, at, faults)


def _default_rules() -> RuleCheck:
    from controlplane.apiextensions.rules.evaluation import DefaultRules

    return DefaultRules()


def _compile_patterns(schema: Obj) -> Iterator[None]:
    """Have all patterns compiled, which takes longest of all, and is remembered."""
    for inner in walk_schema(schema):
        if pattern := inner.get("pattern"):
            with suppress(PatternError):  # said later, in its place
                searcher(pattern)
            yield


def _root_errors(schema: Obj, at: str, path: str) -> Iterator[FieldError]:
    if schema.get("type") and schema["type"] != "object":
        why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(f"{path}.openAPIV3Schema.type", schema["type"], why)
    elif any(says_something(key, value) for key, value in schema.items() if key not in _ROOT_KEYWORDS):
        why = f"only {_ROOT_FIELDS} fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid(at, schema_in_go(schema), why)


def _schema_errors(schema: Obj, path: str, context: _Context, *, is_root: bool = False) -> Iterator[FieldError | None]:
    yield None
    yield from _keywords(schema, path, context)
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    if schema.get("additionalProperties") is not None:
        yield from _other_fields(schema, path, context)
    for name, inner in (schema.get("properties") or {}).items():
        if id(inner) in context.plain:
            continue
        below = context
        if (is_root or schema.get("x-kubernetes-embedded-resource")) and name in META_FIELDS:
            below = replace(context, in_meta=True)
            if is_root:
                below = replace(below, no_default=f"in top-level {name}")
        yield from _schema_errors(inner, f"{path}.properties[{name}]", below)
    for keyword in ("not", "allOf", "oneOf", "anyOf", "definitions", "items", "dependencies"):
        if keyword in schema:
            yield from _inner_errors(schema[keyword], f"{path}.{keyword}", context, named=keyword in _BY_NAME)
    yield from _extensions(schema, path, context.strictness)


_BY_NAME = frozenset({"definitions", "dependencies"})


def _inner_errors(value: Any, path: str, context: _Context, *, named: bool) -> Iterator[FieldError | None]:
    """A schema, a list of them, or (``named``) several by name, as a keyword holds them."""
    if isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _schema_errors(inner, f"{path}[{i}]", context)
    elif isinstance(value, dict) and named:
        for name, inner in value.items():
            if isinstance(inner, dict):
                yield from _schema_errors(inner, f"{path}[{name}]", context)
    elif isinstance(value, dict) and id(value) not in context.plain:
        yield from _schema_errors(value, path, context)


def _other_fields(schema: Obj, path: str, context: _Context) -> Iterator[FieldError | None]:
    extra = schema["additionalProperties"]
    if schema.get("properties") and extra is not True:
        yield forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if isinstance(extra, dict):
        below = context
        if context.in_meta:
            below = replace(context, no_default="inside additionalProperties applying to object metadata")
        yield from _schema_errors(extra, f"{path}.additionalProperties", below)


def _keywords(schema: Obj, path: str, context: _Context) -> Iterator[FieldError]:
    """Keywords that are not supported."""
    type_name = schema.get("type") or ""
    if context.strictness.types and type_name and type_name not in TYPES:
        yield not_supported(f"{path}.type", type_name, list(TYPES))
    if context.no_default is not None and schema.get("default") is not None:
        yield forbidden(f"{path}.default", f"must not be set {context.no_default}")
    for keyword, given in (
        ("id", bool(schema.get("id"))),
        ("additionalItems", schema.get("additionalItems") is not None),
        ("patternProperties", bool(schema.get("patternProperties"))),
        ("definitions", bool(schema.get("definitions"))),
        ("dependencies", schema.get("dependencies") is not None),
        ("$ref", schema.get("$ref") is not None),
    ):
        if given:
            yield forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
    if type_name == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if context.in_meta and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")


def _extensions(schema: Obj, path: str, strictness: Strictness) -> Iterator[FieldError]:
    """The extensions of lists and maps, and rules."""
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    type_name = schema.get("type") or ""
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None and type_name != "object":
        why = "must be object if x-kubernetes-map-type is specified"
        yield invalid(f"{path}.type", type_name, why) if type_name else required(f"{path}.type", why)
    if map_type not in (None, "atomic", "granular"):
        yield not_supported(f"{path}.x-kubernetes-map-type", map_type, ["atomic", "granular"])
    items = schema.get("items")
    if list_type is not None and type_name != "array":
        why = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", type_name, why) if type_name else required(f"{path}.type", why)
    elif strictness.atomic_sets and list_type == "set" and isinstance(items, dict):
        why = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get("x-kubernetes-list-type")
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield invalid(f"{path}.items.x-kubernetes-list-type", inner, why)
        elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            yield invalid(f"{path}.items.x-kubernetes-map-type", inner, why)  # upstream shows the list type here, too
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.x-kubernetes-list-type", list_type, ["atomic", "set", "map"])
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.x-kubernetes-list-type"
        yield required(at, why) if list_type is None else invalid(at, list_type, why)
    if list_type == "map":
        yield from _map_list(schema, path, keys)
    if strictness.list_map_keys:
        yield from list_map_key_errors(schema, path)
    yield from rule_errors(schema, path)


def _map_list(schema: Obj, path: str, keys: list[str]) -> Iterator[FieldError]:
    items = schema.get("items")
    if not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", why)
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if not isinstance(items, dict):
        why = "must only have a single schema if x-kubernetes-list-type is map"
        yield invalid(f"{path}.items", items_in_go(items), why)
        return
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", why)
        return
    seen: set[str] = set()
    properties = items.get("properties") or {}
    for key in keys:
        at = f"{path}.x-kubernetes-list-map-keys"
        if key not in properties:
            yield invalid(at, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", items["type"], why)
        if key in seen:
            yield invalid(at, keys, "must not contain duplicate entries")
        seen.add(key)
