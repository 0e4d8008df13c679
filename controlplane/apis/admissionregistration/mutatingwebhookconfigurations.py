"""Mutating webhook configurations: webhooks that may change what a request writes.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 MutatingWebhookConfiguration.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.admissionregistration.conditions import load_for_conditions
from controlplane.apis.admissionregistration.matching import GROUP
from controlplane.apis.admissionregistration.webhooks import (
    COLUMNS,
    WEBHOOK_NUMBERS,
    default_webhook,
    validate_configuration,
    validate_configuration_update,
    webhooks_schema,
)
from controlplane.apis.changes import count_from_one, counting

__all__ = ["MUTATING_WEBHOOK_CONFIGURATIONS"]

_SCHEMA = record(
    {"webhooks": webhooks_schema(mutating=True)},
    "Webhooks that may change what a request writes.",
    go_type="v1.MutatingWebhookConfiguration",
)

_MESSAGE = message_of(_SCHEMA, WEBHOOK_NUMBERS)


def _default(obj: Obj) -> None:
    for hook in obj.get("webhooks") or ():
        default_webhook(hook)
        hook.setdefault("reinvocationPolicy", "Never")


MUTATING_WEBHOOK_CONFIGURATIONS = Resource(
    group=GROUP,
    plural="mutatingwebhookconfigurations",
    singular="mutatingwebhookconfiguration",
    kind="MutatingWebhookConfiguration",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="mutatingwebhookconfigurations",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=COLUMNS),),
    strategy=Strategy(
        default=_default,
        prepare_for_create=count_from_one,
        prepare_for_update=counting("webhooks"),
        validate=validate_configuration,
        validate_update=validate_configuration_update,
        validate_name=name_is_dns_subdomain,
        load=load_for_conditions,
        unconditional_update=False,
    ),
)
