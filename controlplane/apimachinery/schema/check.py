"""Whether a value fits its schema: yes or no, as fast as it goes.

Generated functions, one a node, made when a value first reaches it. Common cases are decided here; whatever is rare (a
value of another type than the schema's, a schema with contradictory numbers) is left to ``explain``, so that both
always agree: a value fits if nothing is wrong with it, and if no set or map list in it repeats itself.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.schema.explain import explain, same
from controlplane.apimachinery.schema.formats import FORMATS, effective_format
from controlplane.apimachinery.schema.generate import Check, generate
from controlplane.apimachinery.schema.list_types import repeated_items
from controlplane.apimachinery.schema.nodes import Node
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["checker"]

_PYTHON = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list, "number": float}
_NUMBER_KEYWORDS = ("maximum", "minimum", "multipleOf", "format")
_NUMERIC = frozenset({*_NUMBER_KEYWORDS, "type", "exclusiveMaximum", "exclusiveMinimum"})
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
"""What the extension has said already."""
_SAYS_NOTHING = frozenset(
    {"type", "description", "title", "default", "example", "externalDocs", "nullable", "x-kubernetes-map-type",
     "x-kubernetes-preserve-unknown-fields"}
)  # fmt: skip
"""Keywords under which the type is all there is to check."""


def checker(node: Node) -> Check:
    """The check of a node; made once."""
    if node.check is None:
        node.check = _compile(node)
    return node.check


def _compile(node: Node) -> Check:
    schema = node.schema

    def slow(value: Any) -> bool:
        return _unexpected(node, value)

    either = bool(schema.get("x-kubernetes-int-or-string"))
    name = "string" if either else schema.get("type") or ""
    if name not in _PYTHON:
        return _untyped(node, slow)
    body = _Body()
    if either or name == "number":
        integers = _typed(node, "integer", "number" if name == "number" else "")
        body.line("t = type(x)")
        body.line("if t is int:", "    return integers(x)", integers=integers)
        body.line("if t is not expected:", "    return slow(x)", expected=_PYTHON[name], slow=slow)
    else:
        body.line("if type(x) is not expected:", "    return slow(x)", expected=_PYTHON[name], slow=slow)
    _add_checks(body, node, name)
    return body.function()


def _untyped(node: Node, slow: Check) -> Check:
    """A schema that names no type, as the branches of junctors: what it says of objects holds of objects only."""
    if node.schema.get("format"):
        return slow
    made: dict[type, Check] = {}

    def check(value: Any) -> bool:
        kind = type(value)
        found = made.get(kind)
        if found is None:
            name = _UNTYPED.get(kind)
            found = made[kind] = slow if name is None else _typed(node, name)
        return found(value)

    return check


_UNTYPED: dict[type, str] = {str: "string", dict: "object", list: "array"}


def _typed(node: Node, name: str, type_name: str = "") -> Check:
    """The check of values of one JSON type. ``type_name``: the schema's, where it is another."""
    body = _Body()
    _add_checks(body, node, name, type_name)
    return body.function()


def _unexpected(node: Node, value: Any) -> bool:
    """A value that has not the type which the schema is compiled for; it may be right all the same."""
    schema = node.schema
    if value is None and schema.get("type"):
        return node.nullable and not schema.get("enum")
    named = bool(schema.get("type") or schema.get("x-kubernetes-int-or-string"))
    if named and value is not None and not schema.get("format") and type(value) is not float:
        return False
    return not explain(node, value)


class _Body:
    """A function that is being put together: its lines, its constants, and what is returned at its end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: dict[str, object] = {}
        self._conditions: list[str] = []

    def line(self, *lines: str, **constants: object) -> None:
        self._lines += lines
        self._constants.update(constants)

    def condition(self, text: str, **constants: object) -> None:
        """Something that must be true; cheap ones first."""
        self._conditions.append(text)
        self._constants.update(constants)

    def function(self) -> Check:
        return generate([*self._lines, f"return {' and '.join(self._conditions) or 'True'}"], self._constants)


def _add_checks(body: _Body, node: Node, name: str, type_name: str = "") -> None:
    """All that must be true of a value of one JSON type."""
    match name:
        case "string":
            _add_string(body, node.schema)
        case "integer" | "number":
            _add_number(body, node, type_name or name)
        case "array":
            _add_list(body, node)
        case "object":
            _add_object(body, node)
    _add_common(body, node, name)


def _add_string(body: _Body, schema: dict[str, Any]) -> None:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None:
        body.condition("len(x) <= longest", longest=longest)
    if shortest is not None:
        body.condition("len(x) >= shortest", shortest=shortest)
    if pattern:
        try:
            body.condition("search(x) is not None", search=searcher(pattern))
        except PatternError:
            body.condition("False")
            return
    accepts = FORMATS.get(effective_format(schema).replace("-", ""))
    if accepts is not None:
        body.condition("accepts(x)", accepts=accepts)


def _add_number(body: _Body, node: Node, type_name: str) -> None:
    """Plain bounds of integers here, everything else as it is explained."""
    schema = node.schema
    limits = (schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf"))
    is_integer = type_name == "integer"
    if is_integer and (schema.get("type") == "integer" or schema.get("x-kubernetes-int-or-string")):
        body.condition("low <= x <= high", low=-(2**63), high=2**63 - 1)
    if not any(schema.get(keyword) is not None for keyword in _NUMBER_KEYWORDS):
        return
    if schema.get("type") != "integer" or any(type(limit) not in (int, type(None)) for limit in limits):
        numeric = Node({key: value for key, value in schema.items() if key in _NUMERIC})
        body.condition("not explain(numeric, x)", explain=explain, numeric=numeric)
        return
    least, most, factor = limits
    bits = 31 if schema.get("format") == "int32" else 63
    low, high = -(2**bits), 2**bits - 1
    if any(bound is not None and not low <= bound <= high for bound in limits) or (factor is not None and factor <= 0):
        body.condition("False")
        return
    if least is not None:
        low = max(low, least + bool(schema.get("exclusiveMinimum")))
    if most is not None:
        high = min(high, most - bool(schema.get("exclusiveMaximum")))
    body.condition("low <= x <= high", low=low, high=high)
    if factor is not None:
        body.condition("x % factor == 0", factor=factor)


def _add_common(body: _Body, node: Node, name: str) -> None:
    """Enumerations and junctors."""
    schema = node.schema
    if allowed := schema.get("enum"):
        if name == "string":
            body.condition("x in allowed", allowed=frozenset(one for one in allowed if isinstance(one, str)))
        else:
            body.condition("any(same(x, one) for one in allowed)", same=same, allowed=tuple(allowed))
    if schema.get("allOf"):
        body.condition("all(branch(x) for branch in all_of)", all_of=_branches(node, "allOf"))
    if schema.get("anyOf") and not (schema.get("x-kubernetes-int-or-string") and schema["anyOf"] == _INT_OR_STRING):
        body.condition("any(branch(x) for branch in any_of)", any_of=_branches(node, "anyOf"))
    if schema.get("oneOf"):
        body.condition("sum(branch(x) for branch in one_of) == 1", one_of=_branches(node, "oneOf"))
    if schema.get("not") is not None:
        body.condition("not negated(x)", negated=_deferred(Node(schema["not"])))


def _branches(node: Node, keyword: str) -> list[Check]:
    return [_deferred(branch) for branch in node.alternatives(keyword)]


def _deferred(node: Node) -> Check:
    """The check of a node, made when a value reaches it: schemas nest deeper than calls may."""

    def check(value: Any) -> bool:
        return (node.check or checker(node))(value)

    return check


def _add_list(body: _Body, node: Node) -> None:
    schema = node.schema
    fewest, most, items = schema.get("minItems"), schema.get("maxItems"), node.items
    if fewest is not None:
        body.line("if len(x) < fewest:", "    return False", fewest=fewest)
    if most is not None:
        body.line("if len(x) > most:", "    return False", most=most)
    if schema.get("uniqueItems"):
        body.condition("not explain(node, x)", explain=explain, node=node)
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        body.condition("distinct(x)", distinct=_distinct(schema))
    if items is not None:
        item = _deferred(items) if _nests(items.schema) else checker(items)
        _add_loop(body, "x", items.schema, item)


def _nests(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" or schema.get("type") not in _PYTHON


def _add_loop(body: _Body, values: str, schema: dict[str, Any], item: Check) -> None:
    """Check each of many values by one schema."""
    plain = _plain_type(schema)
    if plain is not None:
        body.line(f"for v in {values}:", "    if type(v) is not plain and not item(v):", "        return False")
        body.line(plain=plain, item=item)
    else:
        body.line(f"for v in {values}:", "    if not item(v):", "        return False", item=item)


def _plain_type(schema: dict[str, Any]) -> type | None:
    """The type that is all a schema asks for; None if it asks for more."""
    name = schema.get("type")
    return _PYTHON[name] if name in ("string", "boolean", "object") and _SAYS_NOTHING.issuperset(schema) else None


def _distinct(schema: dict[str, Any]) -> Check:
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


def _add_object(body: _Body, node: Node) -> None:
    schema, properties = node.schema, node.properties
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is not None:
        body.line("if len(x) < fewest:", "    return False", fewest=fewest)
    if most is not None:
        body.line("if len(x) > most:", "    return False", most=most)
    needed = tuple(schema.get("required") or ())
    if len(needed) == 1:
        body.line("if needed not in x:", "    return False", needed=needed[0])
    elif needed:
        body.line("if not needed <= x.keys():", "    return False", needed=frozenset(needed))
    if schema.get("additionalProperties") is False:
        body.line("if not x.keys() <= known:", "    return False", known=frozenset(properties))
    if properties:
        _add_fields(body, node)
    elif (extra := node.additional) is not None:
        _add_loop(body, "x.values()", extra.schema, _deferred(extra))


def _add_fields(body: _Body, node: Node) -> None:
    """Fields that must only have a type are decided here; the checks of others are found by their names."""
    plain = {name: kind for name, inner in node.properties.items() if (kind := _plain_type(inner)) is not None}
    checks: dict[str, Check] = {}

    def find(name: str) -> Check | None:
        child = node.child(name)
        if child is None:
            return None
        check = checker(child)
        if name in node.properties:  # any other name is the client's: there is no end of them
            checks[name] = check
        return check

    body.line(
        "for k, v in x.items():",
        "    if plain.get(k) is not type(v):",
        "        f = checks.get(k) or find(k)",
        "        if f is not None and not f(v):",
        "            return False",
        plain=plain,
        checks=checks,
        find=find,
    )
