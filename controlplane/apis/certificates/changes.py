"""What a write may change of what has become of a certificate request.

Source: the behaviour of kubernetes' certificates.k8s.io/v1 CertificateSigningRequest.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, forbidden
from controlplane.apimachinery.validation.metadata import validate_object_meta_update

__all__ = ["validate_change"]


def validate_change(obj: Obj, old: Obj, *, may_decide: bool = False, may_issue: bool = False) -> list[FieldError]:
    """``may_decide``: conditions Approved and Denied may be added. ``may_issue``: a certificate may be set, once."""
    path = "status.conditions"
    errors = [
        forbidden(path, f'updates may not remove a condition of type "{type_}"')
        for type_ in ("Approved", "Denied", "Failed")
        if len(_of_type(obj, type_)) < len(_of_type(old, type_))
    ]
    for type_ in () if may_decide else ("Approved", "Denied"):
        new_ones, old_ones = _of_type(obj, type_), _of_type(old, type_)
        if len(new_ones) > len(old_ones):
            errors.append(forbidden(path, f'updates may not add a condition of type "{type_}"'))
        elif len(new_ones) == len(old_ones) and new_ones != old_ones:
            errors.append(forbidden(path, f'updates may not modify a condition of type "{type_}"'))
    certificate, old_certificate = _certificate(obj), _certificate(old)
    if certificate != old_certificate:
        if not may_issue:
            errors.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif old_certificate:
            errors.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors + validate_object_meta_update(obj["metadata"], old["metadata"], native=True)


def _of_type(obj: Obj, type_: str) -> list[Obj]:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return [condition for condition in conditions if condition["type"] == type_]


def _certificate(obj: Obj) -> str:
    return (obj.get("status") or {}).get("certificate") or ""
