"""Reviews of one's own access: whether the asker may do something. Nothing of one is kept.

Source: the behaviour of kubernetes' authorization.k8s.io/v1 SelfSubjectAccessReview.
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
    SELF_SPEC,
    STATUS,
    validate_asked,
    validate_empty_metadata,
    validate_selectors,
)

__all__ = ["SELF_SUBJECT_ACCESS_REVIEWS"]

_SCHEMA = record(
    {"spec": SELF_SPEC, "status": STATUS},
    "A question whether the asker may do something.",
    go_type="v1.SelfSubjectAccessReview",
    required=("spec",),
)

_MESSAGE = message_of(_SCHEMA, {"SelfSubjectAccessReview": "metadata spec status", **ACCESS_NUMBERS})


def _validate(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    return validate_asked(spec) + validate_selectors(spec) + validate_empty_metadata(obj["metadata"])


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
