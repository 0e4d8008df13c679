"""What there is and what there should be, merged: permissions and subjects are added, never taken away.

An object whose annotation says so is left alone. So an operator may add to a role, narrow it (then with the annotation
``rbac.authorization.kubernetes.io/autoupdate: "false"``), or delete it until the next start.

Source: kubernetes ``pkg/registry/rbac/reconciliation``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.plugins.authorization.bootstrap.policy import AUTOUPDATE
from controlplane.plugins.authorization.rbac.covers import uncovered

__all__ = ["merged_binding", "merged_role", "refers_elsewhere"]


def merged_role(expected: Obj, existing: Obj) -> Obj | None:
    """The role to write; None if what exists will do."""
    if _is_protected(existing):
        return None
    merged = _with_metadata(expected, existing)
    missing = uncovered(_rules(existing), _rules(expected))
    if missing:
        merged["rules"] = [*(existing.get("rules") or ()), *(rule.as_object() for rule in missing)]
    if expected.get("aggregationRule") is None:
        merged.pop("aggregationRule", None)
    else:
        selectors = _selectors(existing)
        selectors += [selector for selector in _selectors(expected) if selector not in selectors]
        merged["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return merged if merged != existing else None


def merged_binding(expected: Obj, existing: Obj) -> Obj | None:
    """The binding to write; None if what exists will do."""
    if _is_protected(existing):
        return None
    merged = _with_metadata(expected, existing)
    subjects = list(existing.get("subjects") or ())
    missing = [subject for subject in expected.get("subjects") or () if subject not in subjects]
    if missing:
        merged["subjects"] = subjects + missing
    return merged if merged != existing else None


def refers_elsewhere(expected: Obj, existing: Obj) -> bool:
    """Whether a binding gives another role, which cannot be changed: it must be made anew."""
    return bool(expected["roleRef"] != existing["roleRef"]) and not _is_protected(existing)


def _is_protected(existing: Obj) -> bool:
    return (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"


def _with_metadata(expected: Obj, existing: Obj) -> Obj:
    metadata: dict[str, Any] = dict(existing["metadata"])
    for field in ("labels", "annotations"):
        metadata[field] = {**expected["metadata"][field], **(metadata.get(field) or {})}
    return {**existing, "metadata": metadata}


def _rules(role: Obj) -> list[PolicyRule]:
    return [PolicyRule.of_object(rule) for rule in role.get("rules") or ()]


def _selectors(role: Obj) -> list[Obj]:
    return list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())
