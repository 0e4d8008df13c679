"""Self subject access reviews: whether who asks may do something.

Source: kubernetes' authorization.k8s.io/v1 SelfSubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.authorization.attributes import (
    ABOUT,
    GROUP,
    REVIEW_NUMBERS,
    STATUS,
    validate_about,
    validate_bare_metadata,
)

__all__ = ["SELF_SUBJECT_ACCESS_REVIEWS"]

_SPEC = record(ABOUT, "Access to what.", go_type="v1.SelfSubjectAccessReviewSpec")

_SCHEMA = record(
    {"spec": _SPEC, "status": STATUS},
    "Whether who asks may do something.",
    go_type="v1.SelfSubjectAccessReview",
    required=("spec",),
)

_MESSAGE = message_of(_SCHEMA, REVIEW_NUMBERS)


def _validate(obj: Obj) -> list[FieldError]:
    return validate_about(obj["spec"]) + validate_bare_metadata(obj)


SELF_SUBJECT_ACCESS_REVIEWS = Resource(
    group=GROUP,
    plural="selfsubjectaccessreviews",
    singular="selfsubjectaccessreview",
    kind="SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
    strategy=Strategy(validate=_validate),
)
