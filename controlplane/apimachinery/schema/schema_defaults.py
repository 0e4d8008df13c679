"""Defaults in a schema: they must be valid by the schema that they are in, and hold no unknown field.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/defaulting/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from controlplane.apimachinery.codec.json import dumps, in_order, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.check import checker
from controlplane.apimachinery.schema.embedded import coerce_embedded, embedded_errors, root_errors
from controlplane.apimachinery.schema.explain import explain
from controlplane.apimachinery.schema.nodes import META_FIELDS, Node
from controlplane.apimachinery.schema.normalize import prune
from controlplane.apimachinery.validation.field import ENOUGH_ERRORS, FieldError, invalid
from controlplane.base.values import dataclass

__all__ = ["RuleCheck", "default_errors", "default_findings", "has_unpruned_defaults"]


class RuleCheck(Protocol):
    """What defaults break of the rules of their schemas. ``exhausted``: that has taken too long already, and no further
    default is to be looked at."""

    @property
    def exhausted(self) -> bool: ...

    def errors(self, schema: Obj, default: Any, path: str, *, is_root: bool) -> list[FieldError]:
        """``path`` is the default's; ``is_root``: its schema is of a whole object."""


_Surround = Callable[[Any], Any]
"""Puts a value where it would stand in the object around it, up to the next root."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands. ``root``: the schema of the object it is in; ``in_meta``: below that object's metadata,
    kind or apiVersion; ``plain``: parts without defaults; ``pruned``: unknown fields in defaults are wrong; ``rules``:
    how rules are checked, None if there are none."""

    root: Obj
    surround: _Surround
    plain: frozenset[int]
    pruned: bool
    rules: RuleCheck | None
    in_meta: bool = False

    def item(self) -> _Place:
        return replace(self, surround=lambda value: self.surround([value]))

    def field(self, name: str, *, is_meta: bool) -> _Place:
        return replace(self, surround=lambda value: self.surround({name: value}), in_meta=self.in_meta or is_meta)


def _new_object(value: Any) -> Any:
    return {"apiVersion": "validation/v1", "kind": "Validation", **value} if isinstance(value, dict) else value


def default_errors(
    schema: Obj, path: str, *, pruned: bool = True, plain: frozenset[int] = frozenset(), rules: RuleCheck | None = None
) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema. ``pruned``: unknown fields are wrong, too. ``plain``: its
    plain parts (``plain.plain_parts``), which have no defaults. ``rules``: how rules are checked, if it has some."""
    found = default_findings(schema, path, pruned=pruned, plain=plain, rules=rules)
    return [error for error in found if error is not None]


def default_findings(
    schema: Obj, path: str, *, pruned: bool = True, plain: frozenset[int] = frozenset(), rules: RuleCheck | None = None
) -> Iterator[FieldError | None]:
    """The same, with None where there may be a break. Looks no further once enough has been found."""
    count = 0
    for found in _walk(schema, path, _Place(schema, _new_object, plain, pruned, rules), is_root=True):
        yield found
        count += found is not None
        if count == ENOUGH_ERRORS or (found is None and rules is not None and rules.exhausted):
            return


def _walk(schema: Obj, path: str, place: _Place, *, is_root: bool = False) -> Iterator[FieldError | None]:
    yield None
    embedded = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        place = _Place(schema, _new_object, place.plain, place.pruned, place.rules)
    default = schema.get("default")
    if default is not None:
        yield from _check(schema, default, f"{path}.default", place, is_root=embedded)
    items = schema.get("items")
    if isinstance(items, dict) and id(items) not in place.plain:
        yield from _walk(items, f"{path}.items", place.item())
    for name, inner in (schema.get("properties") or {}).items():
        if id(inner) not in place.plain:
            below = place.field(name, is_meta=embedded and name in META_FIELDS)
            yield from _walk(inner, f"{path}.properties[{name}]", below)


def _check(schema: Obj, default: Any, path: str, place: _Place, *, is_root: bool) -> Iterator[FieldError]:
    node = Node(schema)
    copy = loads(dumps(default))
    if place.in_meta:
        whole, root = place.surround(copy), Node(place.root, embedded=True)
        fault = coerce_embedded(whole, root, "", [])
        faults = [fault] if fault is not None else root_errors(whole, root)
        if faults:
            texts = list(dict.fromkeys(str(one) for one in faults))
            told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            yield invalid(path, in_order(default), f"must result in valid metadata: {told}")
            return
    else:
        if place.pruned and prune(copy, node):
            yield invalid(path, in_order(default), "must not have unknown fields")
        copy = loads(dumps(default))
        fault = coerce_embedded(copy, node, path, [])
        if fault is not None:
            yield fault
            return
        if faults := embedded_errors(copy, node, path):
            yield from faults
            return
    if not checker(node)(default):
        faults = explain(node, default, prefix=path)
        yield from faults
        if faults:
            return
    if place.rules is not None:
        yield from place.rules.errors(schema, default, path, is_root=is_root)


def has_unpruned_defaults(schema: Obj) -> bool:
    """Whether a default in a structural schema holds fields that its own schema does not know."""
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        default = one.get("default")
        if isinstance(default, (dict, list)) and prune(loads(dumps(default)), Node(one)):
            return True
        waiting.extend((one.get("properties") or {}).values())
        waiting.extend(
            inner for inner in (one.get("items"), one.get("additionalProperties")) if isinstance(inner, dict)
        )
    return False
