"""Label selectors as objects carry them (``matchLabels``, ``matchExpressions``), ready to match.

Source: kubernetes/apimachinery ``meta/v1.LabelSelectorAsSelector``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.selectors.labels import LabelSelector, Requirement
from controlplane.apimachinery.validation.field import go_quoted

__all__ = ["label_selector_of"]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def label_selector_of(selector: Obj) -> LabelSelector:
    """The selector of an object; an empty one matches everything.

    Raises:
        ValueError: it is none; the message is apimachinery's.
    """
    requirements = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        values = tuple(sorted(set(expression.get("values") or ())))
        operator = _OPERATORS.get(expression["operator"])
        if operator is None:
            raise ValueError(f"{go_quoted(expression['operator'])} is not a valid label selector operator")
        requirements.append(Requirement(expression["key"], operator, values))
    return LabelSelector(tuple(requirements))
