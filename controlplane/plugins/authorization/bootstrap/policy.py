"""Roles and bindings as values, and how the policy that comes with a server is written down.

Everything is sorted as kube-apiserver has it, since clients compare; all of it carries the same label and annotation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.apis.rbac.rules import GROUP

__all__ = [
    "AUTOUPDATE",
    "EVENTS",
    "READ",
    "READ_UPDATE",
    "READ_WRITE",
    "WRITE",
    "Binding",
    "Policy",
    "Role",
    "account",
    "group",
    "paths",
    "rule",
    "user",
]

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
"""An object whose annotation of this name is ``false`` is left as it is."""
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}

READ = "get list watch"
WRITE = "create delete deletecollection patch update"
READ_WRITE = f"{READ} {WRITE}"
READ_UPDATE = f"{READ} patch update"


def rule(verbs: str, groups: str | tuple[str, ...], resources: str, *names: str) -> PolicyRule:
    """A rule on resources; verbs and resources are separated by spaces. ``groups``: one, or several."""
    several = (groups,) if isinstance(groups, str) else groups
    return PolicyRule(_sorted(verbs), tuple(sorted(several)), _sorted(resources), tuple(sorted(names)))


def paths(*urls: str, verbs: str = "get") -> PolicyRule:
    """A rule on paths."""
    return PolicyRule(_sorted(verbs), non_resource_urls=tuple(sorted(urls)))


def _sorted(words: str) -> tuple[str, ...]:
    return tuple(sorted(words.split()))


EVENTS = rule("create patch update", ("", "events.k8s.io"), "events")
"""What all may do who tell what they do."""


class Role(NamedTuple):
    """A role in a namespace, or (``""``) a cluster role. ``labels``: beyond those of all. ``aggregates``: a label whose
    roles it takes in, instead of rules of its own."""

    name: str
    rules: tuple[PolicyRule, ...] = ()
    namespace: str = ""
    labels: tuple[str, ...] = ()
    aggregates: str = ""

    def as_object(self) -> Obj:
        kind = ROLES if self.namespace else CLUSTER_ROLES
        obj = _object(kind.kind, self.name, self.namespace, dict.fromkeys(self.labels, "true"))
        if self.aggregates:
            obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {self.aggregates: "true"}}]}
        obj["rules"] = [rule.as_object() for rule in self.rules]
        return obj


class Binding(NamedTuple):
    """A binding in a namespace, or (``""``) a cluster role binding. ``role``: of the same namespace; a cluster role's
    where there is none."""

    name: str
    subjects: tuple[Obj, ...]
    namespace: str = ""
    role: str = ""

    @property
    def role_name(self) -> str:
        return self.role or self.name

    def as_object(self) -> Obj:
        kind, role = (ROLE_BINDINGS, ROLES) if self.namespace else (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES)
        obj = _object(kind.kind, self.name, self.namespace, {})
        obj["roleRef"] = {"apiGroup": GROUP, "kind": role.kind, "name": self.role_name}
        if self.subjects:
            obj["subjects"] = [dict(subject) for subject in self.subjects]
        return obj


class Policy(NamedTuple):
    """All roles and bindings that a server makes."""

    roles: tuple[Role, ...]
    bindings: tuple[Binding, ...]


def user(name: str) -> Obj:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> Obj:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "kube-system") -> Obj:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def accounts(names: Iterable[str]) -> tuple[Obj, ...]:
    return tuple(map(account, names))


def _object(kind: str, name: str, namespace: str, labels: dict[str, str]) -> Obj:
    metadata: Obj = {"name": name, "labels": {**_LABELS, **labels}, "annotations": {AUTOUPDATE: "true"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
