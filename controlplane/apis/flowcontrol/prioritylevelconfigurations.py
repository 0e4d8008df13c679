"""Priority levels: how many requests may run at a time, and what becomes of the others.

Source: the behaviour of kubernetes' flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import always, integer, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.changes import clear, count_from_one, counting, keep, keep_metadata
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.flowcontrol.conditions import (
    GROUP,
    STATUS_NUMBERS,
    status_schema,
    validate_status,
    validate_status_update,
)
from controlplane.apis.flowcontrol.mandatory import MANDATORY_PRIORITY_LEVELS
from controlplane.apis.printed import as_printed

__all__ = ["PRIORITY_LEVEL_CONFIGURATIONS"]

DEFAULT_SHARES = 30
DEFAULT_QUEUES, DEFAULT_HAND, DEFAULT_QUEUE_LENGTH = 64, 8, 50
MOST_QUEUES = 10_000_000
MOST_HASH_BITS = 60
"""Hands are dealt from one 64-bit hash; that many bits of it are good enough."""

_QUEUING = record(
    {
        "queues": integer("How many queues there are; at least 1, and not under the hand's size. 64 if none is given."),
        "handSize": integer("How many queues a flow is spread over. 8 if none is given."),
        "queueLengthLimit": integer("How many requests may wait in one queue. 50 if none is given."),
    },
    "How requests wait.",
    go_type="v1.QueuingConfiguration",
    required=("queues", "handSize", "queueLengthLimit"),
)

_LIMITED = record(
    {
        "nominalConcurrencyShares": always(
            pointer(integer("The level's share of all that may run at a time, to be compared with others'."))
        ),
        "limitResponse": record(
            {
                "type": string("Queue or Reject.", go_type="v1.LimitResponseType"),
                "queuing": pointer(_QUEUING),
            },
            "What becomes of requests that cannot run at once.",
            go_type="v1.LimitResponse",
            required=("type",),
        ),
        "lendablePercent": pointer(integer("How much of its share others may use while it does not; 0 to 100.")),
        "borrowingLimitPercent": pointer(
            integer("How much it may use of others', in percent of its own share; no limit if none is given.")
        ),
    },
    "Of levels that are Limited.",
    go_type="v1.LimitedPriorityLevelConfiguration",
)

_EXEMPT = record(
    {
        "nominalConcurrencyShares": pointer(integer("The level's share, of which others may use some.")),
        "lendablePercent": pointer(integer("How much of its share others may use; 0 to 100.")),
    },
    "Of the level that is Exempt.",
    go_type="v1.ExemptPriorityLevelConfiguration",
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "type": string("Limited, or Exempt: never held up.", go_type="v1.PriorityLevelEnablement"),
                "limited": pointer(_LIMITED),
                "exempt": pointer(_EXEMPT),
            },
            "How the level treats requests.",
            go_type="v1.PriorityLevelConfigurationSpec",
            required=("type",),
        ),
        "status": status_schema("How the level does.", "PriorityLevelConfiguration"),
    },
    "How many requests may run at a time, and what becomes of the others.",
    go_type="v1.PriorityLevelConfiguration",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "PriorityLevelConfiguration": "metadata spec status",
        "PriorityLevelConfigurationSpec": "type limited exempt",
        "LimitedPriorityLevelConfiguration": (
            "nominalConcurrencyShares limitResponse lendablePercent borrowingLimitPercent"
        ),
        "ExemptPriorityLevelConfiguration": "nominalConcurrencyShares lendablePercent",
        "LimitResponse": "type queuing",
        "QueuingConfiguration": "queues handSize queueLengthLimit",
        **STATUS_NUMBERS,
    },
)


def _fill_in(obj: Obj, **defaults: int) -> None:
    for field, value in defaults.items():
        if obj.get(field) is None:
            obj[field] = value


def _default(obj: Obj) -> None:
    spec = obj["spec"]
    if (exempt := spec.get("exempt")) is not None:
        _fill_in(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if (limited := spec.get("limited")) is not None:
        _fill_in(limited, nominalConcurrencyShares=DEFAULT_SHARES, lendablePercent=0)
        if (queuing := limited["limitResponse"].get("queuing")) is not None:
            queuing["queues"] = queuing["queues"] or DEFAULT_QUEUES
            queuing["handSize"] = queuing["handSize"] or DEFAULT_HAND
            queuing["queueLengthLimit"] = queuing["queueLengthLimit"] or DEFAULT_QUEUE_LENGTH


def _prepare_for_create(obj: Obj) -> None:
    clear(obj)
    count_from_one(obj)


def _prepare_for_update(obj: Obj, old: Obj) -> None:
    keep("status")(obj, old)
    counting("spec")(obj, old)


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain, native=True)
    spec, name = obj["spec"], meta.name(obj)
    return [*errors, *_validate_spec(spec, name), *_validate_mandatory(spec, name), *validate_status(obj["status"])]


def _validate_mandatory(spec: Obj, name: str) -> list[FieldError]:
    fixed = MANDATORY_PRIORITY_LEVELS.get(name)
    if fixed is None:
        return []
    if name == "exempt":
        fits = {**spec, "exempt": None} == {**fixed, "exempt": None}
        why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
    else:
        fits, why = spec == fixed, f"spec of '{name}' must equal the fixed value"
    return [] if fits else [invalid("spec", as_printed(spec, _SCHEMA["properties"]["spec"]), why)]


def _validate_spec(spec: Obj, name: str) -> list[FieldError]:
    errors: list[FieldError] = []
    type_, limited, exempt = spec["type"], spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (type_ == "Exempt"):
        errors.append(invalid("spec.type", type_, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if type_ == "Exempt":
        if limited is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        if exempt is not None:
            errors += _validate_shares(exempt, "spec.exempt") + _validate_lendable(exempt, "spec.exempt")
    elif type_ == "Limited":
        if exempt is not None:
            errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            errors.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            errors += _validate_limited(limited, "spec.limited")
    else:
        errors.append(not_supported("spec.type", type_, ["Exempt", "Limited"]))
    return errors


def _validate_shares(level: Obj, path: str) -> list[FieldError]:
    shares = level.get("nominalConcurrencyShares") or 0
    if shares >= 0:
        return []
    return [invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")]


def _validate_lendable(level: Obj, path: str) -> list[FieldError]:
    percent = level.get("lendablePercent") or 0
    if 0 <= percent <= 100:
        return []
    return [invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")]


def _validate_limited(limited: Obj, path: str) -> list[FieldError]:
    errors = _validate_shares(limited, path)
    errors += _validate_response(limited["limitResponse"], f"{path}.limitResponse")
    errors += _validate_lendable(limited, path)
    borrowing = limited.get("borrowingLimitPercent") or 0
    if borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowing, why))
    return errors


def _validate_response(response: Obj, path: str) -> list[FieldError]:
    type_, queuing = response["type"], response.get("queuing")
    if type_ == "Reject":
        if queuing is None:
            return []
        return [forbidden(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")]
    if type_ != "Queue":
        return [not_supported(f"{path}.type", type_, ["Queue", "Reject"])]
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return _validate_queuing(queuing, f"{path}.queuing")


def _validate_queuing(queuing: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    length, queues, hand = queuing["queueLengthLimit"], queuing["queues"], queuing["handSize"]
    if length <= 0:
        errors.append(invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > MOST_QUEUES:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {MOST_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > MOST_HASH_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        errors.append(invalid(f"{path}.handSize", hand, f"{why} {MOST_HASH_BITS}"))
    return errors


def _validate_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return _validate(obj)


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _type(obj: Obj) -> Any:
    return _spec(obj).get("type") or ""


def _shares(obj: Obj) -> Any:
    level = _spec(obj).get("limited")
    return "<none>" if level is None else level.get("nominalConcurrencyShares")


def _queuing(field: str) -> Callable[[Obj], Any]:
    def cell(obj: Obj) -> Any:
        limited = _spec(obj).get("limited") or {}
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        return "<none>" if queuing is None else queuing[field]

    return cell


PRIORITY_LEVEL_CONFIGURATIONS = Resource(
    group=GROUP,
    plural="prioritylevelconfigurations",
    singular="prioritylevelconfiguration",
    kind="PriorityLevelConfiguration",
    namespaced=False,
    key_prefix="prioritylevelconfigurations",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Type", cell=_type, description="Limited or Exempt."),
                Column(name="NominalConcurrencyShares", cell=_shares, description="Its share of what may run."),
                Column(name="Queues", cell=_queuing("queues"), description="How many queues there are."),
                Column(name="HandSize", cell=_queuing("handSize"), description="Queues that a flow is spread over."),
                Column(
                    name="QueueLengthLimit", cell=_queuing("queueLengthLimit"), description="How long a queue may be."
                ),
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_prepare_status,
                validate_update=validate_status_update,
                reset_fields=("spec", "metadata"),
            ),
        ),
    ),
)
