"""What a creation is charged to a quota, and whether the quota allows it.

Source: kubernetes/apiserver ``pkg/admission/plugin/resourcequota/controller.go`` (CheckRequest) and
``pkg/quota/v1/generic/evaluator.go`` (objects are counted; none of the kinds served here is in a scope).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.quantity import Quantity, parse_quantity

__all__ = ["LimitedResource", "charged", "has_scopes", "problem_of", "unknown_of"]

_ONE = parse_quantity("1")


class LimitedResource(NamedTuple):
    """A resource of which nothing may be created unless a quota covers it: ``match`` are parts of the counted names."""

    resource: GroupResource
    match: Sequence[str]


def has_scopes(quota: Obj) -> bool:
    """Whether a quota counts objects in certain scopes alone: those are of pods and volumes, so it counts nothing
    here."""
    spec = quota.get("spec") or {}
    return bool(spec.get("scopes") or (spec.get("scopeSelector") or {}).get("matchExpressions"))


def problem_of(quota: Obj, names: Iterable[str]) -> str:
    """Why a quota does not allow one more object that is counted under these names; ``""`` if it does."""
    if unknown := unknown_of(quota, names):
        return unknown
    status = quota["status"]
    hard, used = status["hard"], status["used"]
    exceeded = [
        name for name in names if name in hard and parse_quantity(hard[name]) < parse_quantity(used[name]) + _ONE
    ]
    if not exceeded:
        return ""
    requested = _shown(dict.fromkeys(exceeded, "1"))
    return (
        f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, "
        f"used: {_shown(used, exceeded)}, limited: {_shown(hard, exceeded)}"
    )


def unknown_of(quota: Obj, names: Iterable[str]) -> str:
    """Of a quota that counts under one of the names: whether it has not been counted yet what is used, as a reason to
    refuse."""
    status = quota["status"]
    bounded = [name for name in names if name in status["hard"]]
    if all(name in (status.get("used") or {}) for name in bounded):
        return ""
    return f"status unknown for quota: {quota['metadata']['name']}, resources: {','.join(sorted(bounded))}"


def charged(quota: Obj, names: Iterable[str]) -> dict[str, str]:
    """What is used of a quota once one more object is counted."""
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, dict(status.get("used") or {})
    for name in names:
        if name in hard:
            used[name] = str(_sum(parse_quantity(used[name])))
    return used


def _sum(amount: Quantity) -> Quantity:
    return amount + _ONE


def _shown(amounts: Mapping[str, str], names: Iterable[str] | None = None) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts if names is None else names))
