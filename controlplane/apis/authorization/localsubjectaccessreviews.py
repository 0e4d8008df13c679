"""Reviews of access in a namespace, which may be asked by those who may ask there alone. Nothing of one is kept.

Source: the behaviour of kubernetes' authorization.k8s.io/v1 LocalSubjectAccessReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError, invalid
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
from controlplane.apis.printed import as_printed

__all__ = ["LOCAL_SUBJECT_ACCESS_REVIEWS"]

_SCHEMA = record(
    {"spec": SPEC, "status": STATUS},
    "A question whether somebody may do something in this namespace.",
    go_type="v1.LocalSubjectAccessReview",
    required=("spec",),
)

_MESSAGE = message_of(_SCHEMA, {"LocalSubjectAccessReview": "metadata spec status", **ACCESS_NUMBERS})


def _validate(obj: Obj) -> list[FieldError]:
    spec, metadata = obj["spec"], obj["metadata"]
    errors = validate_asked(spec) + validate_subject(spec) + validate_selectors(spec)
    errors += validate_empty_metadata(metadata, but_namespace=True)
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        namespace = resource.get("namespace") or ""
        if namespace != (metadata.get("namespace") or ""):
            errors.append(invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"))
    if path is not None:
        shown = as_printed(path, _SCHEMA["properties"]["spec"]["properties"]["nonResourceAttributes"])
        errors.append(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return errors


LOCAL_SUBJECT_ACCESS_REVIEWS = Resource(
    group=GROUP,
    plural="localsubjectaccessreviews",
    singular="localsubjectaccessreview",
    kind="LocalSubjectAccessReview",
    namespaced=True,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
    strategy=Strategy(validate=_validate),
)
