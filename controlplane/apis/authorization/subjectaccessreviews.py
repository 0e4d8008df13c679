"""Subject access reviews: whether somebody may do something.

Source: kubernetes' authorization.k8s.io/v1 SubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.authorization.attributes import (
    GROUP,
    REVIEW_NUMBERS,
    STATUS,
    SUBJECT_SPEC,
    validate_bare_metadata,
    validate_subject_spec,
)

__all__ = ["SUBJECT_ACCESS_REVIEWS"]

_SCHEMA = record(
    {"spec": SUBJECT_SPEC, "status": STATUS},
    "Whether a user or a group may do something.",
    go_type="v1.SubjectAccessReview",
    required=("spec",),
)

_MESSAGE = message_of(_SCHEMA, REVIEW_NUMBERS)


def _validate(obj: Obj) -> list[FieldError]:
    return validate_subject_spec(obj["spec"]) + validate_bare_metadata(obj)


SUBJECT_ACCESS_REVIEWS = Resource(
    group=GROUP,
    plural="subjectaccessreviews",
    singular="subjectaccessreview",
    kind="SubjectAccessReview",
    namespaced=False,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
    strategy=Strategy(validate=_validate),
)
