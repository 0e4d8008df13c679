"""Reviews of access: whether somebody may do something, asked by those who answer for them. Nothing of one is kept.

Source: the behaviour of kubernetes' authorization.k8s.io/v1 SubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.authorization.access import (
    ACCESS_NUMBERS,
    GROUP,
    SPEC,
    STATUS,
    validate_asked,
    validate_empty_metadata,
    validate_selectors,
    validate_subject,
)

__all__ = ["SUBJECT_ACCESS_REVIEWS"]

_SCHEMA = record(
    {"spec": SPEC, "status": STATUS},
    "A question whether somebody may do something.",
    go_type="v1.SubjectAccessReview",
    required=("spec",),
)

_MESSAGE = message_of(_SCHEMA, {"SubjectAccessReview": "metadata spec status", **ACCESS_NUMBERS})


def _validate(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    errors = validate_asked(spec) + validate_subject(spec) + validate_selectors(spec)
    return errors + validate_empty_metadata(obj["metadata"])


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
