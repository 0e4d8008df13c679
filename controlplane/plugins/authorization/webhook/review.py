"""A question as a SubjectAccessReview, and the answer that comes back.

Source: kubernetes/apiserver ``plugin/pkg/authorizer/webhook/webhook.go``.
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.selectors.fields import parse_field_selector
from controlplane.apimachinery.selectors.labels import SelectorError, parse_label_selector
from controlplane.apiserver.authorization.api import Attributes

__all__ = ["Answer", "ReviewFailed", "answer_of", "review_of", "spec_of"]


class ReviewFailed(Exception):
    """The webhook gave no answer that can be used; the message says why."""


class Answer(NamedTuple):
    """The status of a review."""

    allowed: bool
    denied: bool
    reason: str


def spec_of(a: Attributes) -> Obj:
    """The spec of a review that asks what is asked; what is empty is left out."""
    user = a.user
    spec: Obj = {}
    if a.is_resource:
        asked: Obj = {
            "namespace": a.namespace,
            "verb": a.verb,
            "group": a.group,
            "version": a.version,
            "resource": a.resource,
            "subresource": a.subresource,
            "name": a.name,
        }
        asked = {name: value for name, value in asked.items() if value}
        for name, requirements in (
            ("fieldSelector", _fields(a.field_selector)),
            ("labelSelector", _labels(a.label_selector)),
        ):
            if requirements:
                asked[name] = {"requirements": requirements}
        spec["resourceAttributes"] = asked
    else:
        path = {"path": a.path, "verb": a.verb}
        spec["nonResourceAttributes"] = {name: value for name, value in path.items() if value}
    if user.name:
        spec["user"] = user.name
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    if user.uid:
        spec["uid"] = user.uid
    return spec


def review_of(spec: Obj, version: str) -> bytes:
    """The review to send. In v1beta1 groups have another name."""
    if version == "v1beta1" and "groups" in spec:
        spec = {**{name: value for name, value in spec.items() if name != "groups"}, "group": spec["groups"]}
    return dumps(
        {
            "kind": "SubjectAccessReview",
            "apiVersion": f"authorization.k8s.io/{version}",
            "metadata": {},
            "spec": spec,
            "status": {"allowed": False},
        }
    )


def answer_of(body: bytes, version: str) -> Answer:
    """Read what came back.

    Raises:
        ReviewFailed: it is no review.
    """
    try:
        value = loads(body)
    except MalformedJSON as error:
        raise ReviewFailed(f"the answer is not JSON: {error}") from error
    expected = f"authorization.k8s.io/{version}"
    if not isinstance(value, dict) or value.get("apiVersion", expected) != expected:
        raise ReviewFailed(f"the answer is no SubjectAccessReview of {expected}")
    status = value.get("status") or {}
    if not isinstance(status, dict):
        raise ReviewFailed("the answer's status is no object")
    allowed, denied, reason = (status.get(name) for name in ("allowed", "denied", "reason"))
    if not isinstance(allowed or False, bool) or not isinstance(denied or False, bool):
        raise ReviewFailed("allowed and denied must be true or false")
    return Answer(bool(allowed), bool(denied), str(reason or ""))


def _fields(text: str) -> list[Obj]:
    """A selector as requirements; one that cannot be read asks for no less."""
    try:
        selector = parse_field_selector(text)
    except SelectorError:
        return []
    return [
        {"key": key, "operator": "In" if operator == "=" else "NotIn", "values": [value]}
        for key, operator, value in selector.requirements
    ]


_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


def _labels(text: str) -> list[Obj]:
    """As ``_fields``; comparisons, which a review has no words for, are left out."""
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return []
    return [
        {"key": key, "operator": _OPERATORS[operator], **({"values": list(values)} if values else {})}
        for key, operator, values in selector.requirements
        if operator in _OPERATORS
    ]
