"""Roles: what is allowed in one namespace.

Source: the behaviour of kubernetes' rbac.authorization.k8s.io/v1 Role.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_path_segment
from controlplane.apis.columns import CREATED_AT, NAME
from controlplane.apis.rbac.rules import GROUP, RULE_NUMBERS, RULES, validate_rules

__all__ = ["ROLES"]

_SCHEMA = record({"rules": RULES}, "What is allowed in a namespace, to those it is bound to.", go_type="v1.Role")

_MESSAGE = message_of(_SCHEMA, {"Role": "metadata rules", **RULE_NUMBERS})


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_path_segment, native=True)
    return errors + validate_rules(obj.get("rules") or [], namespaced=True)


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + validate_object_meta_update(obj["metadata"], old["metadata"], native=True)


ROLES = Resource(
    group=GROUP,
    plural="roles",
    singular="role",
    kind="Role",
    namespaced=True,
    key_prefix="roles",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=(NAME, CREATED_AT)),),
    strategy=Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_path_segment,
        create_on_update=True,
    ),
)
