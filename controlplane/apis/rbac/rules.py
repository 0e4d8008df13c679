"""Rules of roles: what is allowed on what.

Source: the behaviour of kubernetes' rbac.authorization.k8s.io/v1 PolicyRule.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import always, array, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, required

__all__ = ["GROUP", "RULES", "RULE_NUMBERS", "validate_rules"]

GROUP = "rbac.authorization.k8s.io"

_RULE = record(
    {
        "verbs": array(string(), "What may be done; '*' is everything."),
        "apiGroups": array(string(), "Groups of the resources; '' is the core group, '*' all."),
        "resources": array(string(), "The resources, with their subresources (configmaps/status); '*' is all."),
        "resourceNames": array(string(), "Names of single objects; none is all."),
        "nonResourceURLs": array(string(), "Paths other than of resources, in cluster roles; a final '*' is any rest."),
    },
    "What is allowed on what.",
    go_type="v1.PolicyRule",
    required=("verbs",),
)

RULE_NUMBERS = {"PolicyRule": "verbs apiGroups resources resourceNames nonResourceURLs"}
"""Of the protobuf message."""

RULES = always(array(_RULE, "Everything that the role allows."))


def validate_rules(rules: list[Obj], *, namespaced: bool) -> list[FieldError]:
    """``namespaced``: the role is in a namespace, where there are no paths."""
    return [
        error for i, rule in enumerate(rules) for error in _validate_rule(rule, f"rules[{i}]", namespaced=namespaced)
    ]


def _validate_rule(rule: Obj, path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        at = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            errors.append(invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors
