"""Conditions in the form that all newer kinds share.

Source: kubernetes/apimachinery ``meta/v1.Condition`` and its validation.
"""

from __future__ import annotations

import re

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, integer, record, string, time
from controlplane.apimachinery.validation.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from controlplane.apimachinery.validation.names import qualified_name, regex_error

__all__ = ["CONDITIONS", "CONDITION_NUMBERS", "validate_conditions"]

STATUSES = ("False", "True", "Unknown")
LONGEST_REASON_BYTES = 1024
LONGEST_MESSAGE_BYTES = 32 * 1024

_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)

CONDITION_NUMBERS = {"Condition": "type status observedGeneration lastTransitionTime reason message"}
"""Of the protobuf message."""

CONDITIONS = array(
    record(
        {
            "type": string("What the condition is about."),
            "status": string("True, False or Unknown.", go_type="v1.ConditionStatus"),
            "observedGeneration": integer("The generation that the condition is of.", bits=64),
            "lastTransitionTime": time("When the status last changed."),
            "reason": string("Why, in one word."),
            "message": string("Why, for people."),
        },
        "One aspect of the state.",
        go_type="v1.Condition",
        required=("type", "status", "lastTransitionTime", "reason", "message"),
    ),
    "The state, aspect by aspect.",
    key=("type",),
)


def validate_conditions(conditions: list[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        if condition["type"] in seen:
            errors.append(duplicate(f"{path}[{i}].type", condition["type"]))
        seen.add(condition["type"])
        errors += _validate_condition(condition, f"{path}[{i}]")
    return errors


def _validate_condition(condition: Obj, path: str) -> list[FieldError]:
    type_, status, reason = condition["type"], condition["status"], condition["reason"]
    errors = [invalid(f"{path}.type", type_, problem) for problem in qualified_name(type_)]
    if status not in STATUSES:
        errors.append(not_supported(f"{path}.status", status, STATUSES))
    if (generation := condition.get("observedGeneration") or 0) < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition["lastTransitionTime"]:
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        if not re.fullmatch(_REASON, reason):
            problem = regex_error(
                _REASON_RULE, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"
            )
            errors.append(invalid(f"{path}.reason", reason, problem))
        if len(reason.encode()) > LONGEST_REASON_BYTES:
            errors.append(too_long(f"{path}.reason", LONGEST_REASON_BYTES))
    if len(condition["message"].encode()) > LONGEST_MESSAGE_BYTES:
        errors.append(too_long(f"{path}.message", LONGEST_MESSAGE_BYTES))
    return errors
