"""What is wrong with a value, in the causes, words and order of Kubernetes' validator.

Slow and plain: it runs on values of which ``check`` has found that something is wrong, and for odd schemas. ``old``
takes part in an update: what has not changed since is not held against it (ratcheting).

Source: kubernetes/kube-openapi ``pkg/validation/{validate,errors}``; kubernetes/apiextensions-apiserver
``pkg/apiserver/validation/{validation,ratcheting}.go``; for ratcheting KEP-4008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import in_order
from controlplane.apimachinery.schema.correlation import ABSENT, old_field, old_item, unchanged
from controlplane.apimachinery.schema.formats import FORMATS, effective_format
from controlplane.apimachinery.schema.nodes import Node
from controlplane.apimachinery.schema.numbers import explain_number, is_integral
from controlplane.apimachinery.schema.problems import Problem
from controlplane.apimachinery.validation.field import (
    ENOUGH_ERRORS,
    FieldError,
    go_json,
    go_number,
    go_quoted,
    go_value,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["explain", "type_name"]


class Outcome:
    """What one schema says of a value: its problems, and how many checks passed (which decides between the branches of
    ``anyOf``: the best one's problems are told)."""

    __slots__ = ("_texts", "matches", "problems")

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.matches = 0
        self._texts: set[str] = set()

    def add(self, problem: Problem) -> None:
        """Each text is told once."""
        if problem.text not in self._texts:
            self._texts.add(problem.text)
            self.problems.append(problem)

    @property
    def is_enough(self) -> bool:
        """Whether so much is wrong that nobody reads on."""
        return len(self.problems) >= ENOUGH_ERRORS

    def merge(self, other: Outcome) -> None:
        for problem in other.problems:
            self.add(problem)
        self.matches += other.matches


_MANY = 1000
"""Of more items than this those that are right are passed over, by the check that has found them so before. What they
would add, passed checks, only decides which of two wrong branches is told."""


class _At(NamedTuple):
    """Where a value stands: its path, and what stood there before."""

    path: str
    old: Any


_INT64 = 2**63


def explain(node: Node, value: Any, *, prefix: str = "", old: Any = ABSENT) -> list[FieldError]:
    """All that is wrong with a value; none if nothing is.

    ``prefix``: the path of the value itself; ``old``: the value before, if this is an update.
    """
    outcome = _ratcheted(node, value, _At("", old))
    return [_field_error(problem, prefix) for problem in outcome.problems]


def type_name(value: Any) -> str:
    """The JSON type of a value, as messages name it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _ratcheted(node: Node, value: Any, at: _At) -> Outcome:
    outcome = _validate(node, value, at)
    if outcome.problems and at.old is not ABSENT and unchanged(node, value, at.old):
        outcome.problems = []
    return outcome


def _validate(node: Node, value: Any, at: _At) -> Outcome:
    outcome = Outcome()
    schema = node.schema
    if value is None:
        outcome.merge(_type(schema, value, at.path))
        _enum(schema, value, at.path, outcome)
        return outcome
    kind = type(value)
    if kind is int and not -_INT64 <= value < _INT64:
        kind, value = float, float(value)
    if _types(schema) or effective_format(schema):
        outcome.merge(_type(schema, value, at.path))
        outcome.matches += 1
    outcome.merge(_junctors(node, value, at))
    outcome.matches += 1
    if kind is str:
        _string(schema, value, at.path, outcome)
        outcome.matches += 1
        name = effective_format(schema)
        if name.replace("-", "") in FORMATS:
            if not FORMATS[name.replace("-", "")](value):
                outcome.add(
                    Problem("type", at.path, value, f"{at.path} in body must be of type {name}: {go_quoted(value)}")
                )
            outcome.matches += 1
    elif kind is int or kind is float:
        for problem in explain_number(schema, value, at.path):
            outcome.add(problem)
        outcome.matches += 2
    elif kind is list:
        outcome.merge(_list(node, value, at))
        outcome.matches += 1
    _enum(schema, value, at.path, outcome)
    outcome.matches += 1
    if kind is dict:
        outcome.merge(_object(node, value, at))
        outcome.matches += 1
    outcome.matches += 1
    return outcome


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    name = schema.get("type")
    return (name,) if name else ()


def _type(schema: dict[str, Any], value: Any, path: str) -> Outcome:
    outcome = Outcome()
    types, name = _types(schema), effective_format(schema)

    def wrong(wanted: str, given: str) -> Outcome:
        outcome.add(Problem("type", path, given, f"{path} in body must be of type {wanted}: {go_quoted(given)}"))
        return outcome

    given = type_name(value)
    if value is None:
        if types and not schema.get("nullable"):
            return wrong(",".join(types), given)
        outcome.matches = 1
        return outcome
    integral = given == "number" and "integer" in types and is_integral(value)
    fits = given in types or integral or (given == "integer" and "number" in types)
    if name:
        given_format = {"integer": "int64", "number": "float64"}.get(given, "")
        if given not in ("string", "array"):
            if not (fits or given_format == name):
                return wrong(name, given_format)
        elif "number" not in types and "integer" not in types:
            outcome.matches = 1
            return outcome
    if not fits:
        return wrong(",".join(types), given)
    outcome.matches = 1
    return outcome


def _string(schema: dict[str, Any], value: str, path: str, outcome: Outcome) -> None:
    """The first thing that is wrong with a string."""
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None and len(value) > longest:
        text = f"{path} in body should be at most {longest} chars long"
        outcome.add(Problem("long", path, value, text, limit=longest))
    elif shortest is not None and len(value) < shortest:
        outcome.add(Problem("", path, value, f"{path} in body should be at least {shortest} chars long"))
    elif pattern:
        try:
            found = searcher(pattern)(value)
        except PatternError as error:
            pattern, found = f"{pattern}, but pattern is invalid: {error}", None
        if not found:
            outcome.add(Problem("", path, value, f"{path} in body should match '{pattern}'"))


def _enum(schema: dict[str, Any], value: Any, path: str, outcome: Outcome) -> None:
    allowed = schema.get("enum")
    if allowed and not any(same(value, one) for one in allowed):
        listed = " ".join(go_value(one) for one in allowed)
        outcome.add(Problem("enum", path, value, f"{path} in body should be one of [{listed}]", allowed=tuple(allowed)))


def same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; a number and a boolean never are."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if value is None or other is None:
        return False  # null is none of the allowed values, even if it is listed
    if type(value) is dict and type(other) is dict:
        return value.keys() == other.keys() and all(_same_inside(value[key], other[key]) for key in value)
    if type(value) is list and type(other) is list:
        return len(value) == len(other) and all(map(_same_inside, value, other))
    return bool(value == other)


def _same_inside(value: Any, other: Any) -> bool:
    return (value is None and other is None) or same(value, other)


def _list(node: Node, value: list[Any], at: _At) -> Outcome:
    outcome = Outcome()
    schema, path, items = node.schema, at.path, node.items
    if items is not None:
        fits = items.check if len(value) > _MANY else None
        for i, item in enumerate(value):
            if fits is not None and fits(item):
                continue
            outcome.merge(_ratcheted(items, item, _At(f"{path}[{i}]", old_item(node, item, at.old))))
            if outcome.is_enough:
                break
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if fewest is not None and len(value) < fewest:
        outcome.add(Problem("", path, len(value), f"{path} in body should have at least {fewest} items"))
    if most is not None and len(value) > most:
        text = f"{path} in body should have at most {most} items"
        outcome.add(Problem("many", path, len(value), text, limit=most))
    if schema.get("uniqueItems") and any(same(value[i], value[j]) for i in range(len(value)) for j in range(i)):
        outcome.add(Problem("", path, None, f"{path} in body shouldn't contain duplicates"))
    outcome.matches += 1
    return outcome


def _object(node: Node, value: dict[str, Any], at: _At) -> Outcome:
    outcome = Outcome()
    schema, path, properties = node.schema, at.path, node.properties
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is not None and len(value) < fewest:
        outcome.add(Problem("", path, len(value), f"{path} in body should have at least {fewest} properties"))
    if most is not None and len(value) > most:
        text = f"{path} in body should have at most {most} properties"
        outcome.add(Problem("many", path, len(value), text, limit=most))
    if schema.get("additionalProperties") is False:
        for key in value:
            if key not in properties:
                outcome.add(Problem("", path, key, f"{path}.{key} in body is a forbidden property"))
    elif (extra := node.additional) is not None:
        fits = extra.check if len(value) > _MANY else None
        for key in sorted(value):
            if key not in properties and (fits is None or not fits(value[key])):
                below = _At(f"{path}.{key}", old_field(node, key, at.old))
                outcome.merge(_ratcheted(extra, value[key], below))
                if outcome.is_enough:
                    break
    for key in sorted(properties):
        if key in value and (child := node.child(key)) is not None:
            old = old_field(node, key, at.old)
            if not path and key in ("kind", "apiVersion"):
                old = ABSENT
            outcome.merge(_ratcheted(child, value[key], _At(f"{path}.{key}" if path else key, old)))
    for key in schema.get("required") or ():
        if key not in value:
            outcome.add(Problem("required", f"{path}.{key}", None, f"{path}.{key} in body is required"))
    return outcome


def _junctors(node: Node, value: Any, at: _At) -> Outcome:
    outcome, schema, quoted = Outcome(), node.schema, go_quoted(at.path)
    if schema.get("anyOf"):
        _any_of(node, value, at, outcome)
    if schema.get("oneOf"):
        _one_of(node, value, at, outcome)
    if schema.get("allOf"):
        branches = [_validate(branch, value, at) for branch in node.alternatives("allOf")]
        for branch in branches:
            outcome.merge(branch)
        if failed := sum(bool(branch.problems) for branch in branches):
            more = ". None validated" if failed == len(branches) else ""
            outcome.add(_of_all(f"{quoted} must validate all the schemas (allOf){more}"))
    if schema.get("not") is not None and not _validate(Node(schema["not"]), value, at).problems:
        outcome.add(_of_all(f"{quoted} must not validate the schema (not)"))
    outcome.matches += 1
    return outcome


def _any_of(node: Node, value: Any, at: _At, outcome: Outcome) -> None:
    best: Outcome | None = None
    for branch in node.alternatives("anyOf"):
        result = _validate(branch, value, at)
        if not result.problems:
            outcome.merge(result)
            return
        if best is None or result.matches > best.matches:
            best = result
    outcome.add(_of_all(f"{go_quoted(at.path)} must validate at least one schema (anyOf)"))
    if best is not None:
        outcome.merge(best)


def _one_of(node: Node, value: Any, at: _At, outcome: Outcome) -> None:
    best: Outcome | None = None
    valid: list[Outcome] = []
    for branch in node.alternatives("oneOf"):
        result = _validate(branch, value, at)
        if not result.problems:
            valid.append(result)
            best = None
        elif not valid and (best is None or result.matches > best.matches):
            best = result
    if len(valid) == 1:
        outcome.merge(valid[0])
        return
    more = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    outcome.add(_of_all(f"{go_quoted(at.path)} must validate one and only one schema (oneOf). {more}"))
    if best is not None:
        outcome.merge(best)


def _of_all(text: str) -> Problem:
    """A problem that names no field of its own."""
    return Problem("plain", "", None, text)


def _shown(value: Any) -> Any:
    """A value as it is told: the keys of objects in order, nothing for null."""
    return "" if value is None else in_order(value)


def _listed(allowed: Any) -> str:
    """One of the values that are allowed, as upstream lists them."""
    if isinstance(allowed, str):
        return allowed
    if isinstance(allowed, (int, float)) and not isinstance(allowed, bool):
        return go_number(allowed)
    return go_json(allowed)


def _field_error(problem: Problem, prefix: str) -> FieldError:
    name = problem.name.removeprefix(".")
    path = f"{prefix}.{name}" if prefix and name else prefix or name or "<nil>"
    if problem.kind == "plain":
        return invalid(prefix or "<nil>", "", problem.text)
    match problem.kind:
        case "required":
            return required(path)
        case "enum":
            allowed = [_listed(one) for one in problem.allowed]
            return not_supported(path, None if problem.value is None else _shown(problem.value), allowed)
        case "long":
            return too_long(path, problem.limit)
        case "many":
            return too_many(path, problem.value, problem.limit)
        case "type":
            return type_invalid(path, problem.value, problem.text)
    return invalid(path, _shown(problem.value), problem.text)
