"""Access reviews: whether somebody may do something, as the server's own authorizers see it.

Source: kubernetes' ``pkg/registry/authorization/{subject,localsubject,selfsubject}accessreview`` and, for how a review
becomes attributes, ``pkg/registry/authorization/util/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.selectors.fields import FieldRequirement, FieldSelector, parse_field_selector
from controlplane.apimachinery.selectors.labels import LabelSelector, Requirement, SelectorError, parse_label_selector
from controlplane.apimachinery.status import APIError, invalid
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision
from controlplane.apiserver.endpoints.calls import Call
from controlplane.plugins.calls.api import CallServices

__all__ = ["AccessReviews", "access_reviews", "oneself", "subject_of"]

WhoOf = Callable[[Obj, Call], UserInfo]
"""Whose access a review is about, from its spec and the call."""


def subject_of(spec: Obj, _call: Call) -> UserInfo:
    """Whom the spec names."""
    return UserInfo(
        name=spec.get("user") or "",
        uid=spec.get("uid") or "",
        groups=tuple(spec.get("groups") or ()),
        extra={key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()},
    )


def oneself(_spec: Obj, call: Call) -> UserInfo:
    """Who asks."""
    return call.user


def access_reviews(resource: Resource, who: WhoOf) -> Callable[[CallServices], AccessReviews]:
    """Makes the answerer of one kind of review. ``who``: whose access it is about."""
    return lambda services: AccessReviews(resource, services.authorizer, who)


class AccessReviews:
    """Answers reviews of one kind. ``who``: whose access they are about."""

    __slots__ = ("_authorizer", "_resource", "_who")

    def __init__(self, resource: Resource, authorizer: Authorizer, who: WhoOf) -> None:
        self._resource, self._authorizer, self._who = resource, authorizer, who

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``. An authorizer that fails is no error: the status says so."""
        errors = [error for error in self._resource.strategy.validate(obj) if error is not None]
        if errors:
            raise _without_kind(invalid(self._resource.group, "", "", errors))
        await call.admit(deepcopy(obj))
        attributes, notes = _attributes(obj["spec"], self._who(obj["spec"], call))
        try:
            decision, reason = await self._authorizer.authorize(attributes)
        except Exception as error:  # noqa: BLE001  # what keeps an authorizer from deciding is what was asked for
            decision, reason = Decision.NO_OPINION, ""
            notes.insert(0, str(error))
        status: Obj = {"allowed": decision is Decision.ALLOW}
        if decision is Decision.DENY:
            status["denied"] = True
        if reason:
            status["reason"] = reason
        if notes:
            status["evaluationError"] = "; ".join(notes)
        obj["status"] = status
        return obj


def _attributes(spec: Obj, user: UserInfo) -> tuple[Attributes, list[str]]:
    """What is asked, as an authorizer sees a request for it, and what of it had to be left out."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return Attributes(user, path.get("verb") or "", is_resource=False, path=path.get("path") or ""), []
    selectors: dict[str, str] = {}
    notes: list[str] = []
    for name, read in (("fieldSelector", _field_selector), ("labelSelector", _label_selector)):
        selectors[name], whole = read(resource.get(name) or {})
        if not whole:
            partially = "partially " if selectors[name] else ""
            notes.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
    attributes = Attributes(
        user,
        resource.get("verb") or "",
        group=resource.get("group") or "",
        version=resource.get("version") or "*",
        resource=resource.get("resource") or "",
        subresource=resource.get("subresource") or "",
        namespace=resource.get("namespace") or "",
        name=resource.get("name") or "",
        field_selector=selectors["fieldSelector"],
        label_selector=selectors["labelSelector"],
    )
    return attributes, notes


_FIELD_OPERATORS = {"In": "=", "NotIn": "!="}
_LABEL_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def _field_selector(given: Obj) -> tuple[str, bool]:
    """The selector as a text, and whether that is all of it. What is left out makes the question a wider one."""
    requirements = given.get("requirements") or []
    read = [
        FieldRequirement(requirement["key"], _FIELD_OPERATORS[requirement["operator"]], requirement["values"][0])
        for requirement in requirements
        if requirement["operator"] in _FIELD_OPERATORS and len(requirement.get("values") or ()) == 1
    ]
    if not requirements:
        return _raw(given, parse_field_selector)
    return str(FieldSelector(tuple(read))), len(read) == len(requirements)


def _label_selector(given: Obj) -> tuple[str, bool]:
    """As ``_field_selector``."""
    requirements = given.get("requirements") or []
    read = [
        Requirement(
            requirement["key"],
            _LABEL_OPERATORS[requirement["operator"]],
            tuple(sorted(set(requirement.get("values") or ()))),
        )
        for requirement in requirements
        if requirement["operator"] in _LABEL_OPERATORS
    ]
    if not requirements:
        return _raw(given, parse_label_selector)
    return str(LabelSelector(tuple(read))), len(read) == len(requirements)


def _raw(given: Obj, parse: Callable[[str], object]) -> tuple[str, bool]:
    text: str = given.get("rawSelector") or ""
    try:
        parse(text)
    except SelectorError:
        return "", False
    return text, True


def _without_kind(error: APIError) -> APIError:
    """Upstream has forgotten the kind by the time it finds what is wrong."""
    details = {name: value for name, value in error.details.items() if name != "kind"}
    return APIError(error.code, error.reason, error.message, details=details)
