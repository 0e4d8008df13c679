"""What bindings of both kinds have in common: a role, and those who are given it.

Source: the behaviour of kubernetes' rbac.authorization.k8s.io/v1 RoleBinding and ClusterRoleBinding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.schema.native import array, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import dns1123_subdomain, name_is_path_segment, path_segment_name
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.printed import as_printed
from controlplane.apis.rbac.rules import GROUP

__all__ = [
    "BINDING_NUMBERS",
    "COLUMNS",
    "binding_schema",
    "default_binding",
    "validate_binding",
    "validate_binding_update",
]

_SUBJECT = record(
    {
        "kind": string("User, Group or ServiceAccount."),
        "apiGroup": string("Group of the subject's kind: none for accounts, rbac.authorization.k8s.io for others."),
        "name": string("The subject's name."),
        "namespace": string("Namespace of an account; users and groups have none."),
    },
    "Who is given the role.",
    go_type="v1.Subject",
    required=("kind", "name"),
    atomic=True,
)

_ROLE = record(
    {
        "apiGroup": string("Group of the role's kind: rbac.authorization.k8s.io."),
        "kind": string("Role or ClusterRole."),
        "name": string("The role's name."),
    },
    "The role that is given; it cannot be changed.",
    go_type="v1.RoleRef",
    required=("apiGroup", "kind", "name"),
    atomic=True,
)


BINDING_NUMBERS = {
    "RoleBinding": "metadata subjects roleRef",
    "ClusterRoleBinding": "metadata subjects roleRef",
    "Subject": "kind apiGroup name namespace",
    "RoleRef": "apiGroup kind name",
}
"""Of the protobuf messages."""


def binding_schema(description: str, go_type: str) -> Obj:
    return record(
        {"subjects": array(_SUBJECT, "Who is given the role."), "roleRef": _ROLE},
        description,
        go_type=go_type,
        required=("roleRef",),
    )


def default_binding(obj: Obj) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject["kind"] in {"User", "Group"}:
            subject["apiGroup"] = GROUP


def validate_binding(obj: Obj, *, namespaced: bool, role_kinds: Sequence[str]) -> list[FieldError]:
    """``role_kinds``: which kinds of roles it can give."""
    errors = validate_object_meta(
        obj["metadata"], namespaced=namespaced, validate_name=name_is_path_segment, native=True
    )
    role = obj["roleRef"]
    if role["apiGroup"] != GROUP:
        errors.append(not_supported("roleRef.apiGroup", role["apiGroup"], [GROUP]))
    if role["kind"] not in role_kinds:
        errors.append(not_supported("roleRef.kind", role["kind"], role_kinds))
    if not role["name"]:
        errors.append(required("roleRef.name"))
    errors += [invalid("roleRef.name", role["name"], problem) for problem in path_segment_name(role["name"])]
    for i, subject in enumerate(obj.get("subjects") or ()):
        errors += _validate_subject(subject, f"subjects[{i}]", namespaced=namespaced)
    return errors


def _validate_subject(subject: Obj, path: str, *, namespaced: bool) -> list[FieldError]:
    name, group = subject["name"], subject.get("apiGroup") or ""
    errors = [] if name else [required(f"{path}.name")]
    if subject["kind"] == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, problem) for problem in dns1123_subdomain(name)]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif subject["kind"] in {"User", "Group"}:
        if group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, [GROUP]))
    else:
        errors.append(not_supported(f"{path}.kind", subject["kind"], ["ServiceAccount", "User", "Group"]))
    return errors


def validate_binding_update(obj: Obj, old: Obj, validate: Callable[[Obj], list[FieldError]]) -> list[FieldError]:
    """``validate``: the kind's own."""
    errors = validate(obj) + validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    role = obj["roleRef"]
    if role != old["roleRef"]:
        errors.append(invalid("roleRef", as_printed(role, _ROLE), "cannot change roleRef"))
    return errors


def _role(obj: Obj) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _subjects(kind: str) -> Callable[[Obj], Any]:
    def cell(obj: Obj) -> str:
        shown = []
        for subject in obj.get("subjects") or ():
            if subject["kind"] == kind:
                namespace = subject.get("namespace") if kind == "ServiceAccount" else ""
                shown.append(f"{namespace}/{subject['name']}" if namespace else subject["name"])
        return ", ".join(shown)

    return cell


COLUMNS = (
    NAME,
    Column(name="Role", cell=_role, description="The role that is given."),
    AGE,
    Column(name="Users", cell=_subjects("User"), priority=1, description="The users who are given it."),
    Column(name="Groups", cell=_subjects("Group"), priority=1, description="The groups that are given it."),
    Column(
        name="ServiceAccounts",
        cell=_subjects("ServiceAccount"),
        priority=1,
        description="The accounts that are given it.",
    ),
)
