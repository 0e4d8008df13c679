"""What an access review asks about: a resource or a path, with selectors that narrow it; and the answer.

Source: kubernetes' authorization.k8s.io/v1 and its validation.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import array, boolean, mapping, pointer, record, string
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apis.label_selectors import validate_label_requirement, validate_operator
from controlplane.apis.printed import as_printed, in_declared_order

__all__ = [
    "ABOUT",
    "GROUP",
    "SUBJECT_SPEC",
    "access_review",
    "validate_about",
    "validate_bare_metadata",
    "validate_subject_spec",
]

GROUP = "authorization.k8s.io"
_EXACTLY_ONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


def _selector(what: str) -> Obj:
    """``what``: field or label."""
    name = what.capitalize()
    requirement = record(
        {
            "key": string(f"The {what}'s name."),
            "operator": string("In, NotIn, Exists or DoesNotExist.", go_type=f"v1.{name}SelectorOperator"),
            "values": array(string(), "Values for In and NotIn; none for the others."),
        },
        f"What one {what} must be.",
        go_type=f"v1.{name}SelectorRequirement",
        required=("key", "operator"),
    )
    return pointer(
        record(
            {
                "rawSelector": string("The selector as text; either this or requirements."),
                "requirements": array(requirement, "Requirements that all hold."),
            },
            f"Narrows access by {what}s.",
            go_type=f"v1.{name}SelectorAttributes",
        )
    )


ABOUT = {
    "resourceAttributes": pointer(
        record(
            {
                "namespace": string("Namespace of the objects; empty is all, or none for what is in none."),
                "verb": string("What is to be done; '*' is everything."),
                "group": string("Group of the resource; '*' is all."),
                "version": string("Version of the resource; '*' is all."),
                "resource": string("The resource; '*' is all."),
                "subresource": string("The subresource; empty is none."),
                "name": string("Name of the object; empty is all."),
                "fieldSelector": _selector("field"),
                "labelSelector": _selector("label"),
            },
            "Access to objects.",
            go_type="v1.ResourceAttributes",
        )
    ),
    "nonResourceAttributes": pointer(
        record(
            {"path": string("The path of the URL."), "verb": string("The method, in lower case.")},
            "Access to a path.",
            go_type="v1.NonResourceAttributes",
        )
    ),
}
"""What is asked about: one of these."""

SUBJECT_SPEC = record(
    {
        **ABOUT,
        "user": string("Who asks. Without groups: what the user may do who is in none."),
        "groups": array(string(), "Groups of who asks."),
        "extra": mapping(array(string()), "What else is known of who asks."),
        "uid": string("UID of who asks."),
    },
    "Whose access to what.",
    go_type="v1.SubjectAccessReviewSpec",
)

STATUS = record(
    {
        "allowed": boolean("Whether it is allowed."),
        "denied": boolean("Whether it is forbidden for good; if it is neither, nobody has said anything."),
        "reason": string("Why."),
        "evaluationError": string("What went wrong while it was decided."),
    },
    "The answer.",
    go_type="v1.SubjectAccessReviewStatus",
    required=("allowed",),
)

REVIEW_NUMBERS = {
    "SubjectAccessReview": "metadata spec status",
    "LocalSubjectAccessReview": "metadata spec status",
    "SelfSubjectAccessReview": "metadata spec status",
    "SubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes user groups extra uid",
    "SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
    "ResourceAttributes": "namespace verb group version resource subresource name fieldSelector labelSelector",
    "NonResourceAttributes": "path verb",
    "FieldSelectorAttributes": "rawSelector requirements",
    "LabelSelectorAttributes": "rawSelector requirements",
    "FieldSelectorRequirement": "key operator values",
    "LabelSelectorRequirement": "key operator values",
    "SubjectAccessReviewStatus": "allowed reason evaluationError denied",
}
"""Of the protobuf messages."""


def access_review(
    kind: str, description: str, *, spec: Obj, validate: Callable[[Obj], list[FieldError]], namespaced: bool = False
) -> Resource:
    """One kind of access review, by the schema of its spec."""
    schema = record({"spec": spec, "status": STATUS}, description, go_type=f"v1.{kind}", required=("spec",))
    return Resource(
        group=GROUP,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        kind=kind,
        namespaced=namespaced,
        verbs=("create",),
        stored=False,
        key_prefix="",
        storage_version="v1",
        versions=(ResourceVersion(name="v1", schema=schema, message=message_of(schema, REVIEW_NUMBERS)),),
        strategy=Strategy(validate=validate),
    )


def validate_bare_metadata(obj: Obj, *, but: tuple[str, ...] = ()) -> list[FieldError]:
    """A review has no metadata. ``but``: the fields that it may have; managed fields are the server's own."""
    meta = obj["metadata"]
    given = {name for name, value in meta.items() if value and name not in {"managedFields", *but}}
    if not given:
        return []
    why = f"must be empty except for {', '.join(but)}" if but else "must be empty"
    return [invalid("metadata", in_declared_order(meta, OBJECT_META), why)]


def validate_subject_spec(spec: Obj) -> list[FieldError]:
    return _validate_one_of(spec) + _validate_subject(spec) + _validate_selectors(spec)


def validate_about(spec: Obj) -> list[FieldError]:
    """The spec of a review of one's own access."""
    return _validate_one_of(spec) + _validate_selectors(spec)


def _validate_one_of(spec: Obj) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", as_printed(path, ABOUT["nonResourceAttributes"]), why)]
    if resource is None and path is None:
        return [invalid("spec.resourceAttributes", None, _EXACTLY_ONE)]
    return []


def _validate_subject(spec: Obj) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]


def _validate_selectors(spec: Obj) -> list[FieldError]:
    resource = spec.get("resourceAttributes") or {}
    path = "spec.resourceAttributes"
    return [
        *_validate_selector(resource.get("fieldSelector"), f"{path}.fieldSelector", _validate_field_requirement),
        *_validate_selector(resource.get("labelSelector"), f"{path}.labelSelector", _validate_label_requirement),
    ]


def _validate_selector(
    selector: Obj | None, path: str, validate: Callable[[Obj, str], list[FieldError]]
) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
    errors: list[FieldError] = []
    if raw and requirements:
        errors.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", why))
    for i, requirement in enumerate(requirements):
        errors += validate(requirement, f"{path}.requirements[{i}]")
    return errors


def _validate_field_requirement(requirement: Obj, path: str) -> list[FieldError]:
    errors = [] if requirement["key"] else [required(f"{path}.key", "must be specified")]
    return errors + validate_operator(requirement, path, known_operators=False)


def _validate_label_requirement(requirement: Obj, path: str) -> list[FieldError]:
    return validate_label_requirement(requirement, path, known_operators=False)
