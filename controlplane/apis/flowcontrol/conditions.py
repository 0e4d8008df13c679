"""Conditions of flow schemas and priority levels, and writes of their status.

Source: the behaviour of kubernetes' flowcontrol.apiserver.k8s.io/v1.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, record, string, time
from controlplane.apimachinery.validation.field import FieldError, duplicate, required

__all__ = ["GROUP", "STATUS_NUMBERS", "status_schema", "validate_status", "validate_status_update"]

GROUP = "flowcontrol.apiserver.k8s.io"


_CONDITION = "type status lastTransitionTime reason message"
STATUS_NUMBERS = {
    "FlowSchemaStatus": "conditions",
    "FlowSchemaCondition": _CONDITION,
    "PriorityLevelConfigurationStatus": "conditions",
    "PriorityLevelConfigurationCondition": _CONDITION,
}
"""Of the protobuf messages."""


def status_schema(description: str, kind: str) -> Obj:
    """``kind``: whose status."""
    condition = record(
        {
            "type": string("What the condition is about.", go_type=f"v1.{kind}ConditionType"),
            "status": string("True, False or Unknown.", go_type="v1.ConditionStatus"),
            "lastTransitionTime": time("When the status last changed."),
            "reason": string("Why, in one word."),
            "message": string("Why, for people."),
        },
        "One aspect of the state.",
        go_type=f"v1.{kind}Condition",
    )
    conditions = array(condition, "The state, aspect by aspect.", key=("type",), merge_key="type")
    return record({"conditions": conditions}, description, go_type=f"v1.{kind}Status")


def validate_status(status: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(status.get("conditions") or ()):
        path, type_ = f"status.conditions[{i}].type", condition.get("type") or ""
        if type_ in seen:
            errors.append(duplicate(path, type_))
        seen.add(type_)
        if not type_:
            errors.append(required(path, "must not be empty"))
    return errors


def validate_status_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return validate_status(obj["status"])
