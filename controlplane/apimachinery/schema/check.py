"""Whether a value fits its schema: yes or no, as fast as it goes.

Compiled closures, one a node, made when a value first reaches it. Common cases are decided here; whatever is rare (a
value of another type than the schema's, a schema with contradictory numbers) is left to ``explain``, so that both
always agree: a value fits if nothing is wrong with it, and if no set or map list in it repeats itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.schema.explain import explain, same
from controlplane.apimachinery.schema.formats import FORMATS, effective_format
from controlplane.apimachinery.schema.list_types import repeated_items
from controlplane.apimachinery.schema.nodes import Node
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["checker"]

Check = Callable[[Any], bool]

_PYTHON = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list, "number": float}
_NUMBER_KEYWORDS = ("maximum", "minimum", "multipleOf", "format")


class _Never:
    """The type of no value."""


def checker(node: Node) -> Check:
    """The check of a node; compiled once."""
    if node.check is None:
        node.check = _compile(node)
    return node.check


def _compile(node: Node) -> Check:
    expected, rest = _expectation(node)

    def check(value: Any) -> bool:
        if type(value) is expected:
            return rest is None or rest(value)
        return _unexpected(node, value)

    return check


def _unexpected(node: Node, value: Any) -> bool:
    """A value that has not the type which the schema is compiled for; it may be right all the same."""
    schema = node.schema
    if value is None:
        return node.nullable and not schema.get("enum") if schema.get("type") else not explain(node, value)
    kind = type(value)
    either = bool(schema.get("x-kubernetes-int-or-string"))
    if kind is int and (either or schema.get("type") == "number"):
        if node.check_integers is None:
            parts = [_number_part(node), *_common_parts(node, "integer")]
            node.check_integers = _together(parts)
        return node.check_integers(value)
    if (schema.get("type") or either) and not schema.get("format") and kind is not float:
        return False
    return not explain(node, value)


def _expectation(node: Node) -> tuple[type, Check | None]:
    """The Python type that values nearly always have, and what else must be true of them then (None: nothing)."""
    schema = node.schema
    if schema.get("x-kubernetes-int-or-string"):
        name = "string"
    else:
        name = schema.get("type") or ""
    parts: list[Check] = []
    match name:
        case "string":
            parts = _string_parts(schema)
        case "integer" | "number":
            if any(schema.get(keyword) is not None for keyword in _NUMBER_KEYWORDS):
                parts = [_number_part(node)]
            elif name == "integer":
                parts = [lambda value: -(2**63) <= value < 2**63]
        case "array":
            parts = _list_parts(node)
        case "object":
            parts = _object_parts(node)
        case _:
            return _Never, None
    parts += _common_parts(node, name)
    if not parts:
        return _PYTHON[name], None
    return _PYTHON[name], _together(parts)


def _together(parts: list[Check]) -> Check:
    if len(parts) == 1:
        return parts[0]
    every = tuple(parts)

    def rest(value: Any) -> bool:
        for part in every:  # noqa: SIM110 - a generator would double the cost
            if not part(value):
                return False
        return True

    return rest


def _string_parts(schema: dict[str, Any]) -> list[Check]:
    parts: list[Check] = []
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None:
        parts.append(lambda value: len(value) <= longest)
    if shortest is not None:
        parts.append(lambda value: len(value) >= shortest)
    if pattern:
        try:
            search = searcher(pattern)
        except PatternError:
            return [lambda _value: False]
        parts.append(lambda value: search(value) is not None)
    accepts = FORMATS.get(effective_format(schema).replace("-", ""))
    if accepts is not None:
        parts.append(accepts)
    return parts


def _number_part(node: Node) -> Check:
    """Plain bounds of integers here, everything else as it is explained."""
    schema = node.schema
    if not any(schema.get(keyword) is not None for keyword in _NUMBER_KEYWORDS):
        return lambda _value: True
    if schema.get("type") != "integer" or any(
        type(schema.get(keyword)) not in (int, type(None)) for keyword in ("maximum", "minimum", "multipleOf")
    ):
        return lambda value: not explain(Node({k: v for k, v in schema.items() if k in _NUMERIC}), value)
    bits = 31 if schema.get("format") == "int32" else 63
    low, high = -(2**bits), 2**bits - 1
    least, most, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if any(bound is not None and not low <= bound <= high for bound in (least, most, factor)) or (factor or 1) <= 0:
        return lambda _value: False
    if least is not None:
        low = max(low, least + bool(schema.get("exclusiveMinimum")))
    if most is not None:
        high = min(high, most - bool(schema.get("exclusiveMaximum")))
    if factor is None:
        return lambda value: low <= value <= high
    return lambda value: low <= value <= high and value % factor == 0


_NUMERIC = frozenset({"type", "format", "maximum", "minimum", "multipleOf", "exclusiveMaximum", "exclusiveMinimum"})


def _common_parts(node: Node, name: str) -> list[Check]:
    """Enumerations and junctors."""
    schema = node.schema
    parts: list[Check] = []
    if allowed := schema.get("enum"):
        if name == "string":
            texts = frozenset(one for one in allowed if isinstance(one, str))
            parts.append(lambda value: value in texts)
        else:
            parts.append(lambda value: any(same(value, one) for one in allowed))
    if schema.get("allOf"):
        all_of = [checker(branch) for branch in node.alternatives("allOf")]
        parts.append(lambda value: all(branch(value) for branch in all_of))
    if schema.get("anyOf") and not (schema.get("x-kubernetes-int-or-string") and schema["anyOf"] == _INT_OR_STRING):
        any_of = [checker(branch) for branch in node.alternatives("anyOf")]
        parts.append(lambda value: any(branch(value) for branch in any_of))
    if schema.get("oneOf"):
        one_of = [checker(branch) for branch in node.alternatives("oneOf")]
        parts.append(lambda value: sum(branch(value) for branch in one_of) == 1)
    if schema.get("not") is not None:
        negated = checker(Node(schema["not"]))
        parts.append(lambda value: not negated(value))
    return parts


def _list_parts(node: Node) -> list[Check]:
    schema = node.schema
    if schema.get("uniqueItems"):
        return [lambda value: not explain(node, value)]
    parts: list[Check] = []
    fewest, most, items = schema.get("minItems"), schema.get("maxItems"), node.items
    if fewest is not None:
        parts.append(lambda value: len(value) >= fewest)
    if most is not None:
        parts.append(lambda value: len(value) <= most)
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        parts.append(_distinct_part(schema))
    if items is not None:
        item_node = items
        expected: type = _Never
        rest: Check | None = None
        ready = False

        def every(value: Any) -> bool:
            nonlocal expected, rest, ready
            if not ready:
                expected, rest = _expectation(item_node)
                ready = True
            for item in value:
                if type(item) is expected:
                    if rest is not None and not rest(item):
                        return False
                elif not _unexpected(item_node, item):
                    return False
            return True

        parts.append(every)
    return parts


def _distinct_part(schema: dict[str, Any]) -> Check:
    """Whether a set or map list repeats nothing; what looks repeated is looked at again, by its JSON."""
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    key = keys[0] if len(keys) == 1 else None

    def distinct(value: Any) -> bool:
        if len(value) < 2:
            return True
        try:
            if key is not None:
                marks = {item.get(key) for item in value}
            elif keys:
                marks = {tuple([item.get(name) for name in keys]) for item in value}
            else:
                marks = set(value)
        except (AttributeError, TypeError):  # items that are no objects, or keys that are
            return not repeated_items(value, schema, "")
        return len(marks) == len(value) or not repeated_items(value, schema, "")

    return distinct


_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
"""What the extension has said already."""

_Field = tuple[type, Check | None, Node]


def _object_parts(node: Node) -> list[Check]:
    schema, properties = node.schema, node.properties
    parts: list[Check] = []
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is not None:
        parts.append(lambda value: len(value) >= fewest)
    if most is not None:
        parts.append(lambda value: len(value) <= most)
    if required := tuple(schema.get("required") or ()):
        if len(required) == 1:
            only = required[0]
            parts.append(lambda value: only in value)
        else:
            needed = frozenset(required)
            parts.append(lambda value: needed <= value.keys())
    if schema.get("additionalProperties") is False:
        parts.append(lambda value: all(key in properties for key in value))
    if properties or node.extra is not None:
        parts.append(_fields_part(node))
    return parts


def _fields_part(node: Node) -> Check:
    properties = node.properties
    fields: dict[str, _Field] = {}
    others: _Field | None = None

    def compile_field(name: str) -> _Field | None:
        nonlocal others
        if name in properties:
            child = node.child(name)
            assert child is not None
            field = fields[name] = (*_expectation(child), child)
            return field
        if others is None and (additional := node.additional) is not None:
            others = (*_expectation(additional), additional)
        return others

    def check(value: Any) -> bool:
        for key, item in value.items():
            field = fields.get(key) or compile_field(key)
            if field is not None:
                if type(item) is field[0]:
                    rest = field[1]
                    if rest is not None and not rest(item):
                        return False
                elif not _unexpected(field[2], item):
                    return False
        return True

    return check
