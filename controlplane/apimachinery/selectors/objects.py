"""Label selectors as objects carry them (``matchLabels``, ``matchExpressions``), ready to match.

Source: kubernetes/apimachinery ``meta/v1.LabelSelectorAsSelector``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.selectors.labels import LabelSelector, Requirement

__all__ = ["label_selector_of"]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def label_selector_of(selector: Obj) -> LabelSelector:
    """The selector of a valid object; an empty one matches everything."""
    requirements = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        values = tuple(sorted(set(expression.get("values") or ())))
        requirements.append(Requirement(expression["key"], _OPERATORS[expression["operator"]], values))
    return LabelSelector(tuple(requirements))
