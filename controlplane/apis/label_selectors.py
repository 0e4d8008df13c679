"""Label selectors inside objects: their schema, and what is wrong with one.

Source: kubernetes/apimachinery ``meta/v1.LabelSelector`` and ``pkg/apis/meta/v1/validation``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, mapping, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, required
from controlplane.apimachinery.validation.metadata import validate_labels
from controlplane.apimachinery.validation.names import label_value, qualified_name

__all__ = [
    "LABEL_REQUIREMENT",
    "LABEL_SELECTOR_NUMBERS",
    "label_selector",
    "validate_label_requirement",
    "validate_label_selector",
    "validate_requirement_values",
]

LABEL_SELECTOR_NUMBERS = {
    "LabelSelector": "matchLabels matchExpressions",
    "LabelSelectorRequirement": "key operator values",
}
"""Of the protobuf messages."""

LABEL_REQUIREMENT = record(
    {
        "key": string("The label's key."),
        "operator": string("In, NotIn, Exists or DoesNotExist.", go_type="v1.LabelSelectorOperator"),
        "values": array(string(), "Values for In and NotIn; none for the others."),
    },
    "What one label must be.",
    go_type="v1.LabelSelectorRequirement",
    required=("key", "operator"),
)


def label_selector(description: str) -> Obj:
    """The schema; an empty selector matches everything."""
    return record(
        {
            "matchLabels": mapping(string(), "Labels that must have exactly these values."),
            "matchExpressions": array(LABEL_REQUIREMENT, "Requirements that must all hold."),
        },
        description,
        go_type="v1.LabelSelector",
        atomic=True,
    )


def validate_label_selector(selector: Obj, path: str) -> list[FieldError]:
    errors = validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += validate_label_requirement(requirement, f"{path}.matchExpressions[{i}]")
    return errors


def validate_label_requirement(requirement: Obj, at: str, *, any_operator: bool = False) -> list[FieldError]:
    """``any_operator``: newer clients may know more operators than this server."""
    errors = validate_requirement_values(requirement, at, any_operator=any_operator)
    errors += [invalid(f"{at}.key", requirement["key"], problem) for problem in qualified_name(requirement["key"])]
    errors += [
        invalid(f"{at}.values[{j}]", value, problem)
        for j, value in enumerate(requirement.get("values") or ())
        for problem in label_value(value)
    ]
    return errors


def validate_requirement_values(requirement: Obj, at: str, *, any_operator: bool = False) -> list[FieldError]:
    """Whether there are values where the operator wants some, and none where it wants none."""
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in {"In", "NotIn"}:
        if not values:
            return [required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{at}.values", why)]
    elif not any_operator:
        return [invalid(f"{at}.operator", operator, "not a valid selector operator")]
    return []
