"""Subject access reviews: whether somebody may do something.

Source: kubernetes' authorization.k8s.io/v1 SubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.authorization.attributes import (
    SUBJECT_SPEC,
    access_review,
    validate_bare_metadata,
    validate_subject_spec,
)

__all__ = ["SUBJECT_ACCESS_REVIEWS"]


def _validate(obj: Obj) -> list[FieldError]:
    return validate_subject_spec(obj["spec"]) + validate_bare_metadata(obj)


SUBJECT_ACCESS_REVIEWS = access_review(
    "SubjectAccessReview",
    "Whether a user or a group may do something.",
    spec=SUBJECT_SPEC,
    validate=_validate,
)
