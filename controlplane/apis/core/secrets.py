"""Secrets: small amounts of data that only those who need them should read.

``stringData`` is for writing: it goes over ``data`` when a secret comes in, and is never stored. A secret without a
type is Opaque; other types ask for certain keys.

Source: the behaviour of kubernetes' core/v1 Secret.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import binary, boolean, mapping, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, required, too_long
from controlplane.apimachinery.validation.metadata import (
    validate_immutable,
    validate_object_meta,
    validate_object_meta_update,
)
from controlplane.apimachinery.validation.names import config_map_key, name_is_dns_subdomain
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.core.key_pairs import key_pair_problem

__all__ = ["SECRETS"]

TOTAL_DATA_BYTES = 1024 * 1024
"""All values of data (decoded) together."""

OPAQUE = "Opaque"
TLS = "kubernetes.io/tls"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
"""The annotation by which a token names its account."""

_PULL_CONFIG_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}

_SCHEMA = record(
    {
        "immutable": pointer(boolean("If true, data can no longer change; only metadata can. It cannot be undone.")),
        "data": mapping(binary(), "Bytes by key, in base64. Keys consist of letters, digits, '-', '_' and '.'."),
        "stringData": mapping(string(), "Text by key, which goes over data in a write. It is never shown."),
        "type": string("What the data is for; some types ask for certain keys.", go_type="v1.SecretType"),
    },
    "Small amounts of data that only those who need them should read.",
    go_type="v1.Secret",
)

_MESSAGE = message_of(_SCHEMA, {"Secret": "metadata data type stringData immutable"})


def _default(obj: Obj) -> None:
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = OPAQUE


def _decoded_bytes(text: str) -> int:
    """How many bytes valid base64 stands for."""
    return len(text) // 4 * 3 - text.count("=", -2)


def _data(obj: Obj) -> Mapping[str, str]:
    return obj.get("data") or {}


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain, native=True)
    data = _data(obj)
    errors += [invalid(f"data[{key}]", key, problem) for key in data for problem in config_map_key(key)]
    if sum(map(_decoded_bytes, data.values())) > TOTAL_DATA_BYTES:
        errors.append(too_long("data", TOTAL_DATA_BYTES))
    return errors + _validate_type(obj, data)


def _validate_type(obj: Obj, data: Mapping[str, str]) -> list[FieldError]:
    match obj.get("type"):
        case "kubernetes.io/service-account-token":
            if not meta.annotations(obj).get(ACCOUNT_NAME):
                return [required(f"metadata.annotations[{ACCOUNT_NAME}]")]
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson" as type_:
            return _validate_pull_config(_PULL_CONFIG_KEYS[type_], data)
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                return [required("data[username]"), required("data[password]")]
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                return [required("data[ssh-privatekey]")]
        case "kubernetes.io/tls":
            return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _validate_pull_config(key: str, data: Mapping[str, str]) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    text = base64.b64decode(data[key])
    try:
        value = loads(text)
    except MalformedJSON as error:
        why = str(error)
    else:
        if isinstance(value, dict) or value is None:
            return []
        why = f"json: cannot unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
    return [invalid(f"data[{key}]", "<secret contents redacted>", why)]


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    errors += validate_immutable(obj["type"], old.get("type", ""), "type")
    if old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not obj.get("immutable"):
            errors.append(forbidden("immutable", why))
        if _data(obj) != _data(old):
            errors.append(forbidden("data", why))
    return errors + _validate(obj)


def _warnings(obj: Obj) -> Sequence[str]:
    if obj.get("type") != TLS:
        return ()
    data = _data(obj)
    problem = key_pair_problem(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
    return (problem,) if problem else ()


def _attributes(obj: Obj) -> Mapping[str, str]:
    return {"metadata.name": meta.name(obj), "metadata.namespace": meta.namespace(obj), "type": _type(obj)}


def _type(obj: Obj) -> str:
    return obj.get("type") or ""


def _data_count(obj: Obj) -> Any:
    return len(_data(obj))


SECRETS = Resource(
    group="",
    plural="secrets",
    singular="secret",
    kind="Secret",
    namespaced=True,
    key_prefix="secrets",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Type", cell=_type, description="What its data is for."),
                Column(name="Data", cell=_data_count, description="How many keys it has."),
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        validate=_validate,
        validate_update=_validate_update,
        checks_metadata=True,
        warnings=_warnings,
        validate_name=name_is_dns_subdomain,
    ),
    attributes=_attributes,
    field_labels=("metadata.name", "metadata.namespace", "type"),
)
