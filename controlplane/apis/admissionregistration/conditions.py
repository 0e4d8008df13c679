"""Match conditions: expressions that a request must fulfil before a webhook or policy is asked.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 MatchCondition.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, record, string
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, required, too_many
from controlplane.apimachinery.validation.names import qualified_name
from controlplane.base.late import importing

__all__ = ["MATCH_CONDITIONS", "load_expressions", "load_for_conditions", "validate_match_conditions"]

MOST_CONDITIONS = 64
_EXPRESSIONS = "controlplane.apis.admissionregistration.expressions"
_ADDRESSES = "controlplane.cel.library.net_url"

MATCH_CONDITIONS = array(
    record(
        {
            "name": string("Names the condition, for messages and to merge by."),
            "expression": string("An expression in CEL that gives a boolean."),
        },
        "An expression that a request must fulfil.",
        go_type="v1.MatchCondition",
        required=("name", "expression"),
    ),
    "Expressions that a request must all fulfil.",
    key=("name",),
    merge_key="name",
)


def load_expressions(_raw: bytes) -> Callable[[], None] | None:
    """What checks a policy, which has expressions (a strategy's ``load``)."""
    return importing(_EXPRESSIONS)


def load_for_conditions(raw: bytes) -> Callable[[], None] | None:
    """What checks a webhook configuration, which may have some (a strategy's ``load``)."""
    return importing(_ADDRESSES, *([_EXPRESSIONS] if b"matchConditions" in raw else []))


def validate_match_conditions(conditions: list[Obj], path: str, *, params: bool = False) -> list[FieldError]:
    """``params``: whether expressions may name parameters."""
    if not conditions:
        return []
    # expressions are not loaded before there is one
    from controlplane.apis.admissionregistration.expressions import Compiler

    compiler = Compiler(params=params)
    errors: list[FieldError] = []
    if len(conditions) > MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), MOST_CONDITIONS))
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        name, at = condition["name"], f"{path}[{i}]"
        expression = condition["expression"].strip()
        if not expression:
            errors.append(required(f"{at}.expression"))
        else:
            errors += compiler.condition(expression).errors(f"{at}.expression")
        if not name:
            errors.append(required(f"{at}.name"))
            continue
        errors += [invalid(f"{at}.name", name, problem) for problem in qualified_name(name)]
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return errors
