"""Role bindings: who is given a role, in one namespace.

Source: the behaviour of kubernetes' rbac.authorization.k8s.io/v1 RoleBinding.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.names import name_is_path_segment
from controlplane.apis.rbac.bindings import (
    BINDING_NUMBERS,
    COLUMNS,
    binding_schema,
    default_binding,
    validate_binding,
    validate_binding_update,
)
from controlplane.apis.rbac.rules import GROUP

__all__ = ["ROLE_BINDINGS"]

_SCHEMA = binding_schema("Gives a role, in a namespace, to subjects.", "v1.RoleBinding")

_MESSAGE = message_of(_SCHEMA, BINDING_NUMBERS)


def _validate(obj: Obj) -> list[FieldError]:
    return validate_binding(obj, namespaced=True, role_kinds=("Role", "ClusterRole"))


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return validate_binding_update(obj, old, _validate)


ROLE_BINDINGS = Resource(
    group=GROUP,
    plural="rolebindings",
    singular="rolebinding",
    kind="RoleBinding",
    namespaced=True,
    key_prefix="rolebindings",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=COLUMNS),),
    strategy=Strategy(
        default=default_binding,
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_path_segment,
        create_on_update=True,
    ),
)
