"""Local subject access reviews: whether somebody may do something in one namespace. So a role of that namespace can say
who may ask.

Source: kubernetes' authorization.k8s.io/v1 LocalSubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apis.authorization.attributes import (
    ABOUT,
    SUBJECT_SPEC,
    access_review,
    validate_bare_metadata,
    validate_subject_spec,
)
from controlplane.apis.printed import as_printed

__all__ = ["LOCAL_SUBJECT_ACCESS_REVIEWS"]


def _validate(obj: Obj) -> list[FieldError]:
    spec, namespace = obj["spec"], obj["metadata"].get("namespace") or ""
    errors = validate_subject_spec(spec) + validate_bare_metadata(obj, but=("namespace",))
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != namespace:
        given = resource.get("namespace") or ""
        errors.append(invalid("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
    if path is not None:
        errors.append(
            invalid(
                "spec.nonResourceAttributes",
                as_printed(path, ABOUT["nonResourceAttributes"]),
                "disallowed on this kind of request",
            )
        )
    return errors


LOCAL_SUBJECT_ACCESS_REVIEWS = access_review(
    "LocalSubjectAccessReview",
    "Whether a user or a group may do something in the namespace.",
    spec=SUBJECT_SPEC,
    validate=_validate,
    namespaced=True,
)
