"""Reviews of access: what the server's own authorizers say to a question.

Source: kubernetes' ``pkg/registry/authorization`` (subjectaccessreview, selfsubjectaccessreview,
localsubjectaccessreview, util/helpers.go).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.selectors.fields import FieldRequirement, FieldSelector, parse_field_selector
from controlplane.apimachinery.selectors.labels import LabelSelector, Requirement, SelectorError, parse_label_selector
from controlplane.apimachinery.status import invalid
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision
from controlplane.apiserver.endpoints.calls import Call

__all__ = ["AccessReviews", "SelfAccessReviews"]


class AccessReviews:
    """Answers reviews of ``kind`` about the user that they name."""

    __slots__ = ("_authorizer", "_kind")

    def __init__(self, kind: Resource, authorizer: Authorizer) -> None:
        self._kind, self._authorizer = kind, authorizer

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``; 422 for a question that is none. What keeps an authorizer from deciding is no error: the
        status says it."""
        errors = self._kind.strategy.validate(obj)
        if errors:
            raise invalid(self._kind.group, "", "", errors)
        await call.admit(deepcopy(obj))
        attributes, notes = _asked(obj["spec"], self._user(obj["spec"], call))
        decision, reason, failure = Decision.NO_OPINION, "", ""
        try:
            decision, reason = await self._authorizer.authorize(attributes)
        except Exception as error:  # noqa: BLE001  # the answer says it
            failure = str(error)
        status: Obj = {"allowed": decision is Decision.ALLOW}
        if decision is Decision.DENY:
            status["denied"] = True
        if reason:
            status["reason"] = reason
        notes = [failure, *notes] if failure else notes
        if notes:
            status["evaluationError"] = "; ".join(notes)
        obj["status"] = status
        return obj

    def _user(self, spec: Obj, _call: Call) -> UserInfo:
        return UserInfo(
            name=spec.get("user") or "",
            uid=spec.get("uid") or "",
            groups=tuple(spec.get("groups") or ()),
            extra={key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()},
        )


class SelfAccessReviews(AccessReviews):
    """Answers reviews about the user who asks."""

    __slots__ = ()

    def _user(self, _spec: Obj, call: Call) -> UserInfo:
        return call.user


def _asked(spec: Obj, user: UserInfo) -> tuple[Attributes, list[str]]:
    """What is asked, and what of it is ignored."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return Attributes(user, path.get("verb") or "", is_resource=False, path=path.get("path") or ""), []
    notes: list[str] = []

    def selector(name: str, parse: Callable[[str], object], build: Callable[[list[Obj]], tuple[object, bool]]) -> str:
        given = resource.get(name) or {}
        read: object = ""
        whole = True
        if given.get("requirements"):
            read, whole = build(given["requirements"])
        elif given.get("rawSelector"):
            try:
                read = parse(given["rawSelector"])
            except SelectorError:
                whole = False
        if not whole:
            partially = "partially " if str(read) else ""
            notes.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
        return str(read)

    field_selector = selector("fieldSelector", parse_field_selector, _field_selector)
    label_selector = selector("labelSelector", parse_label_selector, _label_selector)
    attributes = Attributes(
        user,
        resource.get("verb") or "",
        group=resource.get("group") or "",
        version=resource.get("version") or "*",
        resource=resource.get("resource") or "",
        subresource=resource.get("subresource") or "",
        namespace=resource.get("namespace") or "",
        name=resource.get("name") or "",
        field_selector=field_selector,
        label_selector=label_selector,
    )
    return attributes, notes


_FIELD_OPERATORS = {"In": "=", "NotIn": "!="}
_LABEL_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def _field_selector(requirements: list[Obj]) -> tuple[FieldSelector, bool]:
    """Those that can be told as a selector, and whether they are all. To leave one out asks for more, not for less."""
    read = [
        FieldRequirement(given["key"], _FIELD_OPERATORS[given["operator"]], given["values"][0])
        for given in requirements
        if given["operator"] in _FIELD_OPERATORS and len(given.get("values") or ()) == 1
    ]
    return FieldSelector(tuple(read)), len(read) == len(requirements)


def _label_selector(requirements: list[Obj]) -> tuple[LabelSelector, bool]:
    """As ``_field_selector``."""
    read = [
        Requirement(given["key"], _LABEL_OPERATORS[given["operator"]], tuple(sorted(set(given.get("values") or ()))))
        for given in requirements
        if given["operator"] in _LABEL_OPERATORS
    ]
    return LabelSelector(tuple(read)), len(read) == len(requirements)
