"""Access reviews: whether somebody may do something, as the server's own authorizers see it.

Source: kubernetes' ``pkg/registry/authorization/{subject,localsubject,selfsubject}accessreview`` and, for how a review
becomes attributes, ``pkg/registry/authorization/util/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
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
        attributes = _attributes(obj["spec"], self._who(obj["spec"], call))
        failure = ""
        try:
            decision, reason = await self._authorizer.authorize(attributes)
        except Exception as error:  # noqa: BLE001  # what keeps an authorizer from deciding is what was asked for
            decision, reason, failure = Decision.NO_OPINION, "", str(error)
        status: Obj = {"allowed": decision is Decision.ALLOW}
        if decision is Decision.DENY:
            status["denied"] = True
        if reason:
            status["reason"] = reason
        if failure:
            status["evaluationError"] = failure
        obj["status"] = status
        return obj


def _attributes(spec: Obj, user: UserInfo) -> Attributes:
    """What is asked, as an authorizer sees a request for it; selectors that are requirements become text."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return Attributes(user, path.get("verb") or "", is_resource=False, path=path.get("path") or "")
    return Attributes(
        user,
        resource.get("verb") or "",
        group=resource.get("group") or "",
        version=resource.get("version") or "*",
        resource=resource.get("resource") or "",
        subresource=resource.get("subresource") or "",
        namespace=resource.get("namespace") or "",
        name=resource.get("name") or "",
        field_selector=_selector(resource.get("fieldSelector")),
        label_selector=_selector(resource.get("labelSelector")),
    )


def _selector(selector: Obj | None) -> str:
    if selector is None:
        return ""
    if selector.get("rawSelector"):
        return str(selector["rawSelector"])
    written = (_requirement(requirement) for requirement in selector.get("requirements") or ())
    return ",".join(filter(None, written))


def _requirement(requirement: Obj) -> str:
    """A requirement as text; one of an operator that is not known narrows nothing."""
    key, values = requirement["key"], requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return f"{key} in ({','.join(values)})"
        case "NotIn":
            return f"{key} notin ({','.join(values)})"
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
    return ""


def _without_kind(error: APIError) -> APIError:
    """Upstream has forgotten the kind by the time it finds what is wrong."""
    details = {name: value for name, value in error.details.items() if name != "kind"}
    return APIError(error.code, error.reason, error.message, details=details)
