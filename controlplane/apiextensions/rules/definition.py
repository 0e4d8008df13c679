"""The expressions in a definition's schema: that each compiles, and that all of them together cost little enough.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``, ``cel_validation.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from controlplane.apiextensions.definition.validation.in_go import rule_in_go
from controlplane.apiextensions.rules.compiled import Rule, each_rule
from controlplane.apiextensions.rules.presence import has_rules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.declarations import Declared, declare
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid
from controlplane.base.values import dataclass
from controlplane.cel.estimates import UNBOUNDED

__all__ = ["EXPRESSION_LIMIT", "SCHEMA_LIMIT", "expression_errors"]

EXPRESSION_LIMIT = 10_000_000
"""What one rule may cost for a whole object. Upstream's figure."""
SCHEMA_LIMIT = 100_000_000
"""What all rules of a schema may cost together. Upstream's figure."""
_MOST_EXPENSIVE = 4


@dataclass(slots=True)
class _Total:
    """``faulty``: the paths of what is left out."""

    faulty: frozenset[str] = frozenset()
    cost: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, path: str, cost: int) -> None:
        self.cost = min(self.cost + cost, UNBOUNDED)
        if cost >= SCHEMA_LIMIT // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda entry: -entry[0])
            del self.expensive[_MOST_EXPENSIVE:]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands: how often it can occur (None: unbounded), and above it, where items are not told apart."""

    path: str
    cardinality: int | None
    uncorrelated: str = ""


def expression_errors(schema: Obj, path: str, faults: Collection[str] = ()) -> Iterator[FieldError | None]:
    """What is wrong with the expressions of a schema that has rules; None where there may be a break.

    ``faults``: where else it has some. What is declared to expressions there may be wrong, so upstream leaves them out,
    and those of all schemas around it.
    """
    total = _Total(frozenset(around for fault in faults for around in _around(fault)))
    yield from _below(schema, _Place(path, 1), total, is_root=True)
    if total.cost > SCHEMA_LIMIT:
        for _, at in total.expensive:
            why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield forbidden(at, why)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(path, _over_budget(what, total.cost, SCHEMA_LIMIT))


def _around(path: str) -> Iterator[str]:
    """A path and those that it lies in."""
    yield path
    for i, char in enumerate(path):
        if char in ".[":
            yield path[:i]


def _below(schema: Obj, place: _Place, total: _Total, *, is_root: bool = False) -> Iterator[FieldError | None]:
    """Of a schema that has rules, or has some below; the inner ones first, as upstream has it."""
    extra, items = schema.get("additionalProperties"), schema.get("items")
    inner = [("additionalProperties", extra)]
    inner += [(f"properties[{name}]", given) for name, given in (schema.get("properties") or {}).items()]
    inner.append(("items", items))
    for part, given in inner:
        if isinstance(given, dict) and has_rules(given):
            embedded = bool(given.get("x-kubernetes-embedded-resource"))
            yield from _below(given, _inside(schema, place, f"{place.path}.{part}"), total, is_root=embedded)
    judged = schema.get("x-kubernetes-validations") and place.path not in total.faulty
    declared = declare(schema, is_root=is_root) if judged else None
    if declared is not None:
        yield None
        for i, rule in enumerate(each_rule(declared)):
            yield from _rule_errors(rule, declared, place, f"{place.path}.x-kubernetes-validations[{i}]", total)
            yield None


def _inside(schema: Obj, place: _Place, path: str) -> _Place:
    """The place of a schema right below another."""
    uncorrelated = place.uncorrelated
    if (schema.get("type") == "array" and schema.get("x-kubernetes-list-type") != "map") or schema.get(
        "x-kubernetes-map-type"
    ) not in (None, "granular", "atomic"):
        uncorrelated = uncorrelated or place.path
    limit: int | None = 1
    if schema.get("type") == "array":
        limit = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    if place.cardinality is None or limit is None:
        return _Place(path, None, uncorrelated)
    return _Place(path, min(place.cardinality * max(int(limit), 0), UNBOUNDED), uncorrelated)


def _rule_errors(rule: Rule, declared: Declared, place: _Place, at: str, total: _Total) -> Iterator[FieldError]:
    times = declared.cardinality if place.cardinality is None else place.cardinality
    cost = min(rule.most * times, UNBOUNDED)
    if cost > EXPRESSION_LIMIT:
        yield forbidden(f"{at}.rule", _over_budget("estimated rule cost", cost, EXPRESSION_LIMIT))
    total.observe(f"{at}.rule", cost)
    if rule.error:
        yield invalid(f"{at}.rule", rule_in_go(rule.given), rule.error)
    if rule.message_error:
        yield invalid(f"{at}.messageExpression", rule_in_go(rule.given), rule.message_error)
    elif rule.message is not None:
        if rule.message_most > EXPRESSION_LIMIT:
            why = _over_budget("estimated messageExpression cost", rule.message_most, EXPRESSION_LIMIT)
            yield forbidden(f"{at}.messageExpression", why)
        total.observe(f"{at}.messageExpression", rule.message_most)
    if rule.uses_old_self:
        if place.uncorrelated:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            yield invalid(f"{at}.rule", rule.given.get("rule"), why)
    elif rule.given.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{at}.optionalOldSelf", rule.given["optionalOldSelf"], why)


def _over_budget(what: str, cost: int, limit: int) -> str:
    times = cost / limit
    if times > 100:
        factor = "more than 100x"
    else:
        factor = f"{times:f}x" if times < 1.5 else f"{times:.1f}x"
    return (
        f"{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, "
        "and maxLength where arrays, maps, and strings are declared)"
    )
