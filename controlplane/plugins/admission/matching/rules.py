"""Which rules are for a request. What can be said without its object is worked out once for each operation, resource
and subresource.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/predicates/rules`` and ``policy/matching``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GVK, GVR, Obj
from controlplane.apiserver.admission.api import Attributes, Operation
from controlplane.apiserver.registry.table import ResourceTable, Served

__all__ = ["Candidate", "Match", "candidates", "equivalents", "first_match", "is_exempt"]

_NAMESPACES = GVR("", "v1", "namespaces")
_REVIEWS = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
_CONFIGURATION_RESOURCES = frozenset(
    {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    }
)


class Match(NamedTuple):
    """As what a request matches: another version of its resource, if the rule is for that one alone."""

    resource: GVR
    kind: GVK


class Candidate(NamedTuple):
    """A rule that is for an operation on a resource, if its scope and its names fit."""

    scope: str
    names: frozenset[str]
    match: Match


def is_exempt(resource: GVR) -> bool:
    """Whether a resource is out of reach of webhooks and policies: their own configuration, so that nobody locks
    everybody out, and questions about users."""
    if resource.group == "admissionregistration.k8s.io":
        return resource.resource in _CONFIGURATION_RESOURCES
    return (resource.group, resource.resource) in _REVIEWS


def equivalents(table: ResourceTable, resource: GVR, subresource: str) -> list[Match]:
    """A resource and the other ones that show the same objects, itself first."""
    served = table.routes.get(resource)
    if served is None:
        return []
    same = [
        other
        for other in table.routes.values()
        if other is not served
        and other.resource.stored
        and served.resource.stored
        and other.resource.key_prefix == served.resource.key_prefix
        and (not subresource or other.resource.subresource(subresource) is not None)
    ]
    return [Match(found.gvr, _kind(found, subresource)) for found in (served, *same)]


def _kind(served: Served, subresource: str) -> GVK:
    found = served.resource.subresource(subresource) if subresource else None
    other = found.kind if found is not None else None
    return served.gvk if other is None else other.storage_gvk


def candidates(
    rules: Iterable[Obj], operation: Operation, forms: Sequence[Match], subresource: str, *, exact: bool
) -> tuple[Candidate, ...]:
    """The rules that may be for an operation: first those for the resource as it is requested (``forms[0]``), then,
    unless ``exact``, those for its other forms."""
    rules = [rule for rule in rules if _holds(rule.get("operations"), operation.value)]
    if not rules:
        return ()
    found = [_candidate(rule, forms[0]) for rule in rules if forms and _is_for(rule, forms[0].resource, subresource)]
    if not exact:
        found += [
            _candidate(rule, form) for rule in rules for form in forms[1:] if _is_for(rule, form.resource, subresource)
        ]
    return tuple(found)


def first_match(among: Sequence[Candidate], attributes: Attributes) -> Match | None:
    """The first candidate whose scope and names fit."""
    for scope, names, match in among:
        if scope != "*":
            namespaced = bool(attributes.namespace) and match.resource != _NAMESPACES
            if namespaced is not (scope == "Namespaced"):
                continue
        if not names or attributes.name in names:
            return match
    return None


def _candidate(rule: Obj, form: Match) -> Candidate:
    return Candidate(rule.get("scope") or "*", frozenset(rule.get("resourceNames") or ()), form)


def _is_for(rule: Obj, resource: GVR, subresource: str) -> bool:
    if not _holds(rule.get("apiGroups"), resource.group) or not _holds(rule.get("apiVersions"), resource.version):
        return False
    for name in rule.get("resources") or ():
        plural, _, below = name.partition("/")
        if plural in ("*", resource.resource) and below in ("*", subresource):
            return True
    return False


def _holds(values: Sequence[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)
