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
    "LABEL_SELECTOR_NUMBERS",
    "label_selector",
    "validate_label_requirement",
    "validate_label_selector",
    "validate_operator",
]

LABEL_SELECTOR_NUMBERS = {
    "LabelSelector": "matchLabels matchExpressions",
    "LabelSelectorRequirement": "key operator values",
}
"""Of the protobuf messages."""

_REQUIREMENT = record(
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
            "matchExpressions": array(_REQUIREMENT, "Requirements that must all hold."),
        },
        description,
        go_type="v1.LabelSelector",
        atomic=True,
    )


def validate_label_selector(selector: Obj, path: str, *, any_values: bool = False) -> list[FieldError]:
    """``any_values``: requirements may have values that no label can have."""
    errors = validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += validate_label_requirement(requirement, f"{path}.matchExpressions[{i}]", any_values=any_values)
    return errors


def validate_label_requirement(
    requirement: Obj, path: str, *, known_operators: bool = True, any_values: bool = False
) -> list[FieldError]:
    """``known_operators`` False: others may be newer clients' and pass. ``any_values``: see above."""
    errors = validate_operator(requirement, path, known_operators=known_operators)
    key, values = requirement["key"], requirement.get("values") or []
    errors += [invalid(f"{path}.key", key, problem) for problem in qualified_name(key)]
    if any_values:
        return errors
    return errors + [
        invalid(f"{path}.values[{j}]", value, problem)
        for j, value in enumerate(values)
        for problem in label_value(value)
    ]


def validate_operator(requirement: Obj, path: str, *, known_operators: bool) -> list[FieldError]:
    """Whether the operator of a requirement, on a label or a field, goes with its values."""
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in {"In", "NotIn"}:
        return [] if values else [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in {"Exists", "DoesNotExist"}:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{path}.values", why)] if values else []
    return [invalid(f"{path}.operator", operator, "not a valid selector operator")] if known_operators else []
