"""Self subject access reviews: whether who asks may do something.

Source: kubernetes' authorization.k8s.io/v1 SelfSubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.authorization.attributes import ABOUT, access_review, validate_about, validate_bare_metadata

__all__ = ["SELF_SUBJECT_ACCESS_REVIEWS"]


def _validate(obj: Obj) -> list[FieldError]:
    return validate_about(obj["spec"]) + validate_bare_metadata(obj)


SELF_SUBJECT_ACCESS_REVIEWS = access_review(
    "SelfSubjectAccessReview",
    "Whether who asks may do something.",
    spec=record(ABOUT, "Access to what.", go_type="v1.SelfSubjectAccessReviewSpec"),
    validate=_validate,
)
