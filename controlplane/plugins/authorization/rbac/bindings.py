"""Bindings as the index keeps them: whom they name, and the role they give.

Source: kubernetes ``pkg/registry/rbac/validation/rule.go`` (who is meant, and the words that name a binding).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.service_accounts import username_of
from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted

__all__ = ["CLUSTER_ROLE", "ROLE", "Grant", "RoleRef", "grants_of", "keys_of", "role_ref"]


ROLE, CLUSTER_ROLE = "Role", "ClusterRole"


class RoleRef(NamedTuple):
    """A role by its kind and its key; cluster roles have no namespace."""

    kind: str
    key: Key


class Grant(NamedTuple):
    """What one subject gets by one binding. ``at``: the subject's place in the binding, of which the first that is the
    user counts. ``source``: the binding, the role and the subject, as reasons name them."""

    at: int
    role: RoleRef
    source: str


def role_ref(reference: Obj, namespace: str) -> RoleRef:
    """The role that a binding in a namespace refers to."""
    kind = reference["kind"]
    return RoleRef(kind, Key("" if kind == CLUSTER_ROLE else namespace, reference["name"]))


def keys_of(user: UserInfo) -> Iterator[str]:
    """Under which keys a user's grants are found."""
    yield f"User {user.name}"
    for group in user.groups:
        yield f"Group {group}"


def grants_of(binding: Obj, key: Key) -> Iterator[tuple[str, Grant]]:
    """The grants of a binding (of a cluster role binding, if the key has no namespace), each with its subject's key."""
    reference = binding["roleRef"]
    role = role_ref(reference, key.namespace)
    kind, shown = ("RoleBinding", f"{key.name}/{key.namespace}") if key.namespace else ("ClusterRoleBinding", key.name)
    given = f"{kind} {go_quoted(shown)} of {role.kind} {go_quoted(role.key.name)} to"
    for at, subject in enumerate(binding.get("subjects") or ()):
        kind, name = subject["kind"], subject["name"]
        shown = name
        if kind == "ServiceAccount":
            namespace = subject.get("namespace") or key.namespace
            if not namespace:
                continue  # nobody: there are no accounts outside namespaces
            shown = f"{name}/{namespace}"
            subject_key = f"User {username_of(namespace, name)}"
        else:
            subject_key = f"{kind} {name}"
        yield subject_key, Grant(at, role, f"{given} {kind} {go_quoted(shown)}")
