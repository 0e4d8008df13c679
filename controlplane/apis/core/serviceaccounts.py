"""Service accounts: identities for programs, in a namespace.

Of the references to its secrets only the names are kept.

Source: the behaviour of kubernetes' core/v1 ServiceAccount.
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, boolean, pointer, record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.authentication.tokenrequests import TOKEN_REQUESTS
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.references import LOCAL_OBJECT_REFERENCE, REFERENCE_NUMBERS, object_reference

__all__ = ["SERVICE_ACCOUNTS"]

ENFORCE_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"

_SCHEMA = record(
    {
        "secrets": array(
            object_reference("A secret, by its name."),
            "Secrets that belong to the account; only their names are kept.",
            key=("name",),
            merge_key="name",
        ),
        "imagePullSecrets": array(
            LOCAL_OBJECT_REFERENCE, "Secrets in the namespace with credentials for pulling images."
        ),
        "automountServiceAccountToken": pointer(
            boolean("Whether programs that run as the account are given a token without asking for it.")
        ),
    },
    "An identity for programs.",
    go_type="v1.ServiceAccount",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "ServiceAccount": "metadata secrets imagePullSecrets automountServiceAccountToken",
        **REFERENCE_NUMBERS,
    },
)


def _keep_names(obj: Obj) -> None:
    if secrets := obj.get("secrets"):
        obj["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def _keep_names_on_update(obj: Obj, _old: Obj) -> None:
    _keep_names(obj)


def _validate(obj: Obj) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain, native=True)


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(obj["metadata"], old["metadata"], native=True) + _validate(obj)


def _warnings(obj: Obj) -> Sequence[str]:
    if ENFORCE_MOUNTABLE_SECRETS not in meta.annotations(obj):
        return ()
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{ENFORCE_MOUNTABLE_SECRETS}]: {why}"]


SERVICE_ACCOUNTS = Resource(
    group="",
    plural="serviceaccounts",
    singular="serviceaccount",
    kind="ServiceAccount",
    namespaced=True,
    short_names=("sa",),
    key_prefix="serviceaccounts",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=(NAME, AGE)),),
    strategy=Strategy(
        prepare_for_create=_keep_names,
        prepare_for_update=_keep_names_on_update,
        validate=_validate,
        validate_update=_validate_update,
        checks_metadata=True,
        warnings=_warnings,
        validate_name=name_is_dns_subdomain,
        returns_deleted=True,
    ),
    subresources=(Subresource(name="token", verbs=("create",), request=TOKEN_REQUESTS),),
)
