"""Predicates: label and field selectors as lists and watches use them."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.selectors.fields import FieldSelector
from controlplane.apimachinery.selectors.labels import LabelSelector
from controlplane.storage.api import Attributes, Predicate

__all__ = ["EVERYTHING", "make_predicate"]


class _Everything:
    signature = ""
    name = None
    by_name_only = False

    def matches(self, obj: Obj) -> bool:  # the protocol's argument
        return True


EVERYTHING: Predicate = _Everything()


class _Selected:
    """Both selectors match. See ``storage.api.Predicate``."""

    __slots__ = ("_attributes", "_fields", "_labels", "by_name_only", "name", "signature")

    def __init__(self, labels: LabelSelector, fields: FieldSelector, attributes: Attributes) -> None:
        self._labels = None if labels.empty else labels
        self._fields = None if fields.empty else fields
        self._attributes = attributes
        self.name = fields.exact("metadata.name")
        self.by_name_only = self.name is not None and labels.empty and len(fields.requirements) == 1
        self.signature = f"{labels}\n{fields}"

    def matches(self, obj: Obj) -> bool:
        if self._labels is not None and not self._labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return self._fields is None or self._fields.matches(self._attributes(obj))


def make_predicate(labels: LabelSelector, fields: FieldSelector, attributes: Attributes) -> Predicate:
    """The predicate of both selectors; ``attributes`` gives an object's selectable fields (the resource's)."""
    if labels.empty and fields.empty:
        return EVERYTHING
    return _Selected(labels, fields, attributes)
