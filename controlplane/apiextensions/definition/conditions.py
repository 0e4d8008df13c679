"""The conditions of a definition: what is known of it, one entry a type.

Source: kubernetes/apiextensions-apiserver ``pkg/apihelpers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj

__all__ = ["Condition", "conditions_of", "find", "is_true", "with_condition", "without_condition"]


class Condition(NamedTuple):
    """``type`` is what it is about; ``status`` is True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str

    def to_obj(self, since: str) -> Obj:
        return {
            "type": self.type,
            "status": self.status,
            "lastTransitionTime": since,
            "reason": self.reason,
            "message": self.message,
        }


def conditions_of(definition: Obj) -> Sequence[Obj]:
    return (definition.get("status") or {}).get("conditions") or ()


def find(conditions: Sequence[Obj], type_name: str) -> Obj | None:
    return next((condition for condition in conditions if condition.get("type") == type_name), None)


def is_true(definition: Obj, type_name: str) -> bool:
    condition = find(conditions_of(definition), type_name)
    return condition is not None and condition.get("status") == "True"


def with_condition(conditions: Sequence[Obj], condition: Condition, now: str) -> list[Obj]:
    """The conditions with one set; ``now`` is noted where its status changes."""
    old = find(conditions, condition.type)
    if old is None:
        return [*conditions, condition.to_obj(now)]
    since = old.get("lastTransitionTime") if old.get("status") == condition.status else None
    new = {**old, **condition.to_obj(since or now)}
    return [new if one is old else one for one in conditions]


def without_condition(conditions: Sequence[Obj], type_name: str) -> list[Obj]:
    return [condition for condition in conditions if condition.get("type") != type_name]
