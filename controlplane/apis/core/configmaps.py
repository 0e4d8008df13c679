"""ConfigMaps: named text and bytes for programs to read.

Source: the behaviour of kubernetes' core/v1 ConfigMap.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import binary, boolean, mapping, pointer, record, string
from controlplane.apimachinery.validation.field import ENOUGH_ERRORS, FieldError, forbidden, invalid, too_long
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import config_map_key, name_is_dns_subdomain
from controlplane.apis.columns import AGE, NAME

__all__ = ["CONFIGMAPS"]

TOTAL_DATA_BYTES = 1024 * 1024
"""All values of data and binaryData (decoded) together."""

_SCHEMA = record(
    {
        "immutable": pointer(boolean("If true, data can no longer change; only metadata can. It cannot be undone.")),
        "data": mapping(
            string(), "Text by key. Keys consist of letters, digits, '-', '_' and '.', and are not in binaryData."
        ),
        "binaryData": mapping(binary(), "Bytes by key, in base64. Keys are as in data, and are not in data."),
    },
    "Named text and bytes for programs to read.",
    go_type="v1.ConfigMap",
)
_MESSAGE = message_of(_SCHEMA, {"ConfigMap": "metadata data binaryData immutable"})


def _decoded_bytes(text: str) -> int:
    """How many bytes valid base64 stands for."""
    return len(text) // 4 * 3 - text.count("=", -2)


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain, native=True)
    data, binary_data = obj.get("data") or {}, obj.get("binaryData") or {}
    total_bytes = 0
    for key, value in data.items():
        for problem in config_map_key(key):
            errors.append(invalid(f"data[{key}]", key, problem))
        if key in binary_data:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        if len(errors) >= 2 * ENOUGH_ERRORS:
            return errors
        total_bytes += len(value) if value.isascii() else len(value.encode())
    for key, value in binary_data.items():
        for problem in config_map_key(key):
            errors.append(invalid(f"binaryData[{key}]", key, problem))
        if len(errors) >= 2 * ENOUGH_ERRORS:
            return errors
        total_bytes += _decoded_bytes(value)
    if total_bytes > TOTAL_DATA_BYTES:
        errors.append(too_long("[]", TOTAL_DATA_BYTES))  # the whole object; upstream writes its path so
    return errors


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    if old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not obj.get("immutable"):
            errors.append(forbidden("immutable", why))
        errors += [
            forbidden(field, why)
            for field in ("data", "binaryData")
            if (obj.get(field) or {}) != (old.get(field) or {})
        ]
    return errors + _validate(obj)


def _data_count(obj: Obj) -> Any:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


CONFIGMAPS = Resource(
    group="",
    plural="configmaps",
    singular="configmap",
    kind="ConfigMap",
    namespaced=True,
    short_names=("cm",),
    key_prefix="configmaps",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(NAME, Column(name="Data", cell=_data_count, description="How many keys it has."), AGE),
        ),
    ),
    strategy=Strategy(
        validate=_validate,
        validate_update=_validate_update,
        checks_metadata=True,
        validate_name=name_is_dns_subdomain,
    ),
)
