"""The flow schemas and priority levels that a server suggests: specs by name, as they are served.

An operator may change or remove what is suggested; what is mandatory is in ``apis/flowcontrol/mandatory.py``.

Source: kubernetes/apiserver ``pkg/apis/flowcontrol/bootstrap`` (names, figures, subjects, rules).
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.identity import Obj

__all__ = ["SUGGESTED_FLOW_SCHEMAS", "SUGGESTED_PRIORITY_LEVELS"]

QUEUE_LENGTH_LIMIT = 50


def _queued(shares: int, lendable_percent: int, *, queues: int, hand: int) -> Obj:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": QUEUE_LENGTH_LIMIT}
    return {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": shares,
            "lendablePercent": lendable_percent,
            "limitResponse": {"type": "Queue", "queuing": queuing},
        },
    }


SUGGESTED_PRIORITY_LEVELS: Mapping[str, Obj] = {
    "system": _queued(30, 33, queues=64, hand=6),
    "node-high": _queued(40, 25, queues=64, hand=6),
    "leader-election": _queued(10, 0, queues=16, hand=4),
    "workload-high": _queued(40, 50, queues=128, hand=6),
    "workload-low": _queued(100, 90, queues=128, hand=6),
    "global-default": _queued(20, 50, queues=128, hand=6),
}


def _user(name: str) -> Obj:
    return {"kind": "User", "user": {"name": name}}


def _group(name: str) -> Obj:
    return {"kind": "Group", "group": {"name": name}}


def _resources(verbs: list[str], group: str, resources: list[str], *, cluster_scope: bool = False) -> Obj:
    rule: Obj = {"verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"]}
    return {**rule, "clusterScope": True} if cluster_scope else rule


_ANYBODY = [_group("system:unauthenticated"), _group("system:authenticated")]
_NODES = [_group("system:nodes")]
_MANAGER, _SCHEDULER = _user("system:kube-controller-manager"), _user("system:kube-scheduler")
_SYSTEM_ACCOUNTS: Obj = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
_EVERYTHING: Obj = {
    "resourceRules": [_resources(["*"], "*", ["*"], cluster_scope=True)],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_PROBES: Obj = {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]}
_ELECTIONS: Obj = {"resourceRules": [_resources(["get", "create", "update"], "coordination.k8s.io", ["leases"])]}
_HEARTBEATS: Obj = {
    "resourceRules": [
        _resources(["*"], "", ["nodes", "nodes/status"], cluster_scope=True),
        _resources(["*"], "coordination.k8s.io", ["leases"]),
    ]
}


def _schema(level: str, precedence: int, distinguisher: str, subjects: list[Obj], requests: Obj) -> Obj:
    spec: Obj = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [{"subjects": subjects, **requests}],
    }
    return {**spec, "distinguisherMethod": {"type": distinguisher}} if distinguisher else spec


SUGGESTED_FLOW_SCHEMAS: Mapping[str, Obj] = {
    "system-nodes": _schema("system", 500, "ByUser", _NODES, _EVERYTHING),
    "system-node-high": _schema("node-high", 400, "ByUser", _NODES, _HEARTBEATS),
    "probes": _schema("exempt", 2, "", _ANYBODY, _PROBES),
    "system-leader-election": _schema(
        "leader-election", 100, "ByUser", [_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS], _ELECTIONS
    ),
    "kube-controller-manager": _schema("workload-high", 800, "ByNamespace", [_MANAGER], _EVERYTHING),
    "kube-scheduler": _schema("workload-high", 800, "ByNamespace", [_SCHEDULER], _EVERYTHING),
    "kube-system-service-accounts": _schema("workload-high", 900, "ByNamespace", [_SYSTEM_ACCOUNTS], _EVERYTHING),
    "service-accounts": _schema("workload-low", 9000, "ByUser", [_group("system:serviceaccounts")], _EVERYTHING),
    "global-default": _schema("global-default", 9900, "ByUser", _ANYBODY, _EVERYTHING),
}
