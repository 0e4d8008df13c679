"""What the reviews of access have in common: what is asked, what is answered, and what is wrong with a question.

Source: the behaviour of kubernetes' authorization.k8s.io/v1 SubjectAccessReview, and its
``pkg/apis/authorization/validation`` (texts).
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, boolean, mapping, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apis.label_selectors import (
    LABEL_REQUIREMENT,
    LABEL_SELECTOR_NUMBERS,
    validate_label_requirement,
    validate_requirement_values,
)
from controlplane.apis.printed import as_printed

__all__ = [
    "ACCESS_NUMBERS",
    "GROUP",
    "SELF_SPEC",
    "SPEC",
    "STATUS",
    "validate_asked",
    "validate_empty_metadata",
    "validate_selectors",
    "validate_subject",
]

GROUP = "authorization.k8s.io"

_FIELD_REQUIREMENT = record(
    {
        "key": string("The field."),
        "operator": string("In, NotIn, Exists or DoesNotExist.", go_type="v1.FieldSelectorOperator"),
        "values": array(string(), "Values for In and NotIn; none for the others."),
    },
    "What one field must be.",
    go_type="v1.FieldSelectorRequirement",
    required=("key", "operator"),
)


def _selector(requirement: Obj, description: str, go_type: str) -> Obj:
    return pointer(
        record(
            {
                "rawSelector": string("The selector as a text, as in a query; instead of requirements."),
                "requirements": array(requirement, "Requirements that must all hold."),
            },
            description,
            go_type=go_type,
        )
    )


_RESOURCE = pointer(
    record(
        {
            "namespace": string("The namespace; none is all of them, or that the resource is in none."),
            "verb": string("The verb, as get, list, watch, create, update, patch, delete; '*' is all."),
            "group": string("The resource's group; '*' is all."),
            "version": string("The resource's version; '*' is all."),
            "resource": string("The resource; '*' is all."),
            "subresource": string("The subresource, if one is meant."),
            "name": string("The object's name; none is all of them."),
            "fieldSelector": _selector(
                _FIELD_REQUIREMENT, "Which objects alone, by their fields.", "v1.FieldSelectorAttributes"
            ),
            "labelSelector": _selector(
                LABEL_REQUIREMENT, "Which objects alone, by their labels.", "v1.LabelSelectorAttributes"
            ),
        },
        "A request for a resource.",
        go_type="v1.ResourceAttributes",
    )
)

_PATH = pointer(
    record(
        {"path": string("The path."), "verb": string("The HTTP method, in lower case.")},
        "A request for a path that is no resource's.",
        go_type="v1.NonResourceAttributes",
    )
)

SPEC = record(
    {
        "resourceAttributes": _RESOURCE,
        "nonResourceAttributes": _PATH,
        "user": string("The user's name."),
        "groups": array(string(), "The user's groups."),
        "extra": mapping(array(string()), "What else an authenticator would know of the user."),
        "uid": string("The user's uid."),
    },
    "Who would do what.",
    go_type="v1.SubjectAccessReviewSpec",
)

SELF_SPEC = record(
    {"resourceAttributes": _RESOURCE, "nonResourceAttributes": _PATH},
    "What the asker would do.",
    go_type="v1.SelfSubjectAccessReviewSpec",
)

STATUS = record(
    {
        "allowed": boolean("Whether it is allowed."),
        "denied": boolean("Whether it is denied, whoever else might allow it."),
        "reason": string("Why."),
        "evaluationError": string("What kept the server from knowing for sure."),
    },
    "The server's decision.",
    go_type="v1.SubjectAccessReviewStatus",
    required=("allowed",),
)

ACCESS_NUMBERS = {
    "SubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes user groups extra uid",
    "SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
    "ResourceAttributes": "namespace verb group version resource subresource name fieldSelector labelSelector",
    "NonResourceAttributes": "path verb",
    "FieldSelectorAttributes": "rawSelector requirements",
    "LabelSelectorAttributes": "rawSelector requirements",
    "FieldSelectorRequirement": "key operator values",
    "LabelSelectorRequirement": LABEL_SELECTOR_NUMBERS["LabelSelectorRequirement"],
    "SubjectAccessReviewStatus": "allowed reason evaluationError denied",
}
"""Of the protobuf messages."""


def validate_asked(spec: Obj) -> list[FieldError]:
    """A resource or a path, and one of them."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", as_printed(path, _PATH), why)]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", None, why)]
    return []


def validate_subject(spec: Obj) -> list[FieldError]:
    """A user, or groups at least."""
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]


def validate_selectors(spec: Obj) -> list[FieldError]:
    """The selectors of a request for a resource."""
    at, resource = "spec.resourceAttributes", spec.get("resourceAttributes") or {}
    errors: list[FieldError] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = resource.get(name)
        if selector is not None:
            errors += _validate_selector(selector, f"{at}.{name}", of_labels=name == "labelSelector")
    return errors


def _validate_selector(selector: Obj, path: str, *, of_labels: bool) -> list[FieldError]:
    text, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
    errors: list[FieldError] = []
    if text and requirements:
        errors.append(invalid(f"{path}.rawSelector", text, "may not specified at the same time as requirements"))
    if not text and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", why))
    for i, requirement in enumerate(requirements):
        at = f"{path}.requirements[{i}]"
        if of_labels:
            errors += validate_label_requirement(requirement, at, any_operator=True)
            continue
        if not requirement["key"]:
            errors.append(required(f"{at}.key", "must be specified"))
        errors += validate_requirement_values(requirement, at, any_operator=True)
    return errors


def validate_empty_metadata(metadata: Obj, *, but_namespace: bool = False) -> list[FieldError]:
    """A review has no name, no labels, nothing: it is nowhere."""
    ignored = {"managedFields", "namespace"} if but_namespace else {"managedFields"}
    if not any(value for name, value in metadata.items() if name not in ignored):
        return []
    return [invalid("metadata", metadata, "must be empty except for namespace" if but_namespace else "must be empty")]
