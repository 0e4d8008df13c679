"""Objects that must exist and must be as they are here: what is always let through, and what is left over.

Source: kubernetes/apiserver ``pkg/apis/flowcontrol/bootstrap``.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.identity import Obj

__all__ = ["MANDATORY_FLOW_SCHEMAS", "MANDATORY_PRIORITY_LEVELS"]


def _group(name: str) -> Obj:
    return {"kind": "Group", "group": {"name": name}}


_EVERYTHING: Obj = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}

MANDATORY_FLOW_SCHEMAS: Mapping[str, Obj] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [_group("system:masters")], **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {"subjects": [_group("system:unauthenticated"), _group("system:authenticated")], **_EVERYTHING},
        ],
    },
}
"""Specs by name."""

MANDATORY_PRIORITY_LEVELS: Mapping[str, Obj] = {
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}
"""Specs by name; of ``exempt`` the part of that name may differ."""
