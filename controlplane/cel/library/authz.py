"""Authorization in expressions: ``authorizer.group('apps').resource('deployments').check('create').allowed()``.

Whoever evaluates gives an ``Authorizer`` with a function that decides; nothing here knows who that asks.

Source: kubernetes/apiserver ``pkg/cel/library/authz.go`` and ``cost.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import LIST_CREATE_COST, STRING_FACTOR, STRUCT_CREATE_COST, CallEstimate, Operand, fixed
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import nominal
from controlplane.cel.library.names import dns1123_label, dns1123_subdomain
from controlplane.cel.types import BOOL, STRING, Type, object_type
from controlplane.cel.values import Value

__all__ = ["AUTHZ", "AUTHZ_SELECTORS", "Authorizer", "Check", "Decision", "ResourceCheck", "ServiceAccount"]

_AUTHORIZER = object_type("kubernetes.authorization.Authorizer")
_PATH_CHECK = object_type("kubernetes.authorization.PathCheck")
_GROUP_CHECK = object_type("kubernetes.authorization.GroupCheck")
_RESOURCE_CHECK = object_type("kubernetes.authorization.ResourceCheck")
_DECISION = object_type("kubernetes.authorization.Decision")

_CHECK_COST = 350_000
"""So that an expression can afford two."""
_REQUIREMENTS_PER_CHARACTER = 0.5
_REQUIREMENT_COST = LIST_CREATE_COST + STRUCT_CREATE_COST


class ServiceAccount(NamedTuple):
    """Whose permissions are asked for, if it is not the user's who makes the request."""

    namespace: str
    name: str


class Check(NamedTuple):
    """One question. ``account`` None: of the user who makes the request. A path, or a resource with all that names it;
    selectors are texts."""

    account: ServiceAccount | None
    verb: str
    path: str = ""
    is_resource: bool = False
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer. ``error`` ``""``: it could be decided."""

    allowed: bool
    reason: str = ""
    error: str = ""
    cel_type: ClassVar[Type] = _DECISION


Decide = Callable[[Check], Decision]


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Who is asked, on behalf of whom."""

    decide: Decide
    account: ServiceAccount | None = None
    cel_type: ClassVar[Type] = _AUTHORIZER


@dataclass(frozen=True, slots=True)
class _PathCheck:
    authorizer: Authorizer
    path: str
    cel_type: ClassVar[Type] = _PATH_CHECK


@dataclass(frozen=True, slots=True)
class _GroupCheck:
    authorizer: Authorizer
    group: str
    cel_type: ClassVar[Type] = _GROUP_CHECK


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCheck:
    """A question about a resource that lacks its verb."""

    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    cel_type: ClassVar[Type] = _RESOURCE_CHECK


def _path(authorizer: Authorizer, path: str) -> _PathCheck:
    if not path.strip():
        raise EvalError("path must not be empty")
    return _PathCheck(authorizer, path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return replace(authorizer, account=ServiceAccount(namespace, name))


def _resource(check: _GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvalError("resource must not be empty")
    return ResourceCheck(authorizer=check.authorizer, group=check.group, resource=resource)


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrowed(check: ResourceCheck, value: str) -> ResourceCheck:
        changed: dict[str, Any] = {field: value}
        return replace(check, **changed)

    return narrowed


def _check_path(check: _PathCheck, verb: str) -> Decision:
    return check.authorizer.decide(Check(check.authorizer.account, verb, path=check.path))


def _check_resource(check: ResourceCheck, verb: str) -> Decision:
    question = Check(
        check.authorizer.account,
        verb,
        is_resource=True,
        group=check.group,
        resource=check.resource,
        subresource=check.subresource,
        namespace=check.namespace,
        name=check.name,
        field_selector=check.field_selector,
        label_selector=check.label_selector,
    )
    return check.authorizer.decide(question)


def _checked(_result: Value, *_arguments: Hashable) -> int:
    return _CHECK_COST


def _checking(*_operands: Operand) -> CallEstimate:
    return CallEstimate(fixed(_CHECK_COST))


def _selected(_result: Value, _check: Value, selector: str) -> int:
    size = len(selector)
    requirements = math.ceil(size * _REQUIREMENTS_PER_CHARACTER)
    return LIST_CREATE_COST + math.ceil(size * STRING_FACTOR) + requirements * _REQUIREMENT_COST


def _selecting(_check: Operand, selector: Operand) -> CallEstimate:
    parsed = selector.size.scaled(STRING_FACTOR)
    requirements = selector.size.scaled(_REQUIREMENTS_PER_CHARACTER).scaled(_REQUIREMENT_COST)
    return CallEstimate(fixed(LIST_CREATE_COST).plus(parsed).plus(requirements))


def _member(name: str, overload: str, params: tuple[Type, ...], result: Type, impl: Callable[..., Value]) -> Function:
    return Function(name, (Overload(overload, params, result, impl, member=True, estimate=nominal),))


AUTHZ = Library(
    (
        _member("path", "authorizer_path", (_AUTHORIZER, STRING), _PATH_CHECK, _path),
        _member("group", "authorizer_group", (_AUTHORIZER, STRING), _GROUP_CHECK, _GroupCheck),
        _member(
            "serviceAccount", "authorizer_serviceaccount", (_AUTHORIZER, STRING, STRING), _AUTHORIZER, _service_account
        ),
        _member("resource", "groupcheck_resource", (_GROUP_CHECK, STRING), _RESOURCE_CHECK, _resource),
        _member(
            "subresource",
            "resourcecheck_subresource",
            (_RESOURCE_CHECK, STRING),
            _RESOURCE_CHECK,
            _with("subresource"),
        ),
        _member("namespace", "resourcecheck_namespace", (_RESOURCE_CHECK, STRING), _RESOURCE_CHECK, _with("namespace")),
        _member("name", "resourcecheck_name", (_RESOURCE_CHECK, STRING), _RESOURCE_CHECK, _with("name")),
        Function(
            "check",
            (
                Overload(
                    "pathcheck_check",
                    (_PATH_CHECK, STRING),
                    _DECISION,
                    _check_path,
                    member=True,
                    cost=_checked,
                    estimate=_checking,
                ),
                Overload(
                    "resourcecheck_check",
                    (_RESOURCE_CHECK, STRING),
                    _DECISION,
                    _check_resource,
                    member=True,
                    cost=_checked,
                    estimate=_checking,
                ),
            ),
        ),
        _member("errored", "decision_errored", (_DECISION,), BOOL, lambda decision: bool(decision.error)),
        _member("error", "decision_error", (_DECISION,), STRING, lambda decision: decision.error),
        _member("allowed", "decision_allowed", (_DECISION,), BOOL, lambda decision: decision.allowed),
        _member("reason", "decision_reason", (_DECISION,), STRING, lambda decision: decision.reason),
    ),
    types={kind.name: kind for kind in (_AUTHORIZER, _PATH_CHECK, _GROUP_CHECK, _RESOURCE_CHECK, _DECISION)},
)

AUTHZ_SELECTORS = Library(
    tuple(
        Function(
            name,
            (
                Overload(
                    f"authorizer_{name.lower()}",
                    (_RESOURCE_CHECK, STRING),
                    _RESOURCE_CHECK,
                    _with(field),
                    member=True,
                    cost=_selected,
                    estimate=_selecting,
                ),
            ),
        )
        for name, field in (("fieldSelector", "field_selector"), ("labelSelector", "label_selector"))
    )
)
