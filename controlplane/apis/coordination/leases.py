"""Leases: who holds a role, since when, and until when others must wait.

The fields of coordinated leader election, ``strategy`` and ``preferredHolder``, belong to a feature that is off: they
are dropped unless the stored lease has them already.

Source: the behaviour of kubernetes' coordination.k8s.io/v1 Lease.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import integer, micro_time, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.columns import AGE, NAME

__all__ = ["LEASES"]

_SCHEMA = record(
    {
        "spec": record(
            {
                "holderIdentity": pointer(string("Who holds the lease.")),
                "leaseDurationSeconds": pointer(
                    integer("How long others wait after the last renewal they saw before they take the lease.")
                ),
                "acquireTime": pointer(micro_time("When the holder took the lease.")),
                "renewTime": pointer(micro_time("When the holder last renewed it.")),
                "leaseTransitions": pointer(integer("How often the lease has changed hands.")),
                "strategy": pointer(
                    string("How a coordinated election picks the holder.", go_type="v1.CoordinatedLeaseStrategy")
                ),
                "preferredHolder": pointer(string("Who should hold the lease instead; asks the holder to give it up.")),
            },
            "The state of the lease.",
            go_type="v1.LeaseSpec",
        )
    },
    "Who holds a role, and since when.",
    go_type="v1.Lease",
)
_MESSAGE = message_of(
    _SCHEMA,
    {
        "Lease": "metadata spec",
        "LeaseSpec": (
            "holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy preferredHolder"
        ),
    },
)
_COORDINATED = ("strategy", "preferredHolder")


def _drop_coordinated(obj: Obj) -> None:
    for field in _COORDINATED:
        _spec(obj).pop(field, None)


def _drop_new_coordinated(obj: Obj, old: Obj) -> None:
    if "strategy" not in _spec(old):
        _drop_coordinated(obj)


def _validate_spec(spec: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        errors.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _validate(obj: Obj) -> list[FieldError]:
    meta_errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain)
    return meta_errors + _validate_spec(_spec(obj))


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(obj["metadata"], old["metadata"]) + _validate_spec(_spec(obj))


def _holder(obj: Obj) -> str:
    return _spec(obj).get("holderIdentity") or ""


LEASES = Resource(
    group="coordination.k8s.io",
    plural="leases",
    singular="lease",
    kind="Lease",
    namespaced=True,
    key_prefix="leases",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(NAME, Column(name="Holder", cell=_holder, description="Who holds the lease."), AGE),
        ),
    ),
    strategy=Strategy(
        prepare_for_create=_drop_coordinated,
        prepare_for_update=_drop_new_coordinated,
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        create_on_update=True,
        unconditional_update=False,
    ),
    volatile=True,
)
