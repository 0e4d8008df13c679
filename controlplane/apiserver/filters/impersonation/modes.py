"""The ways in which impersonation may be allowed, tried in order.

Constrained modes ask two things: whether the requestor may do what the request asks for while he is somebody else
(``impersonate-on:MODE:VERB``), and whether he may be who he wants to be (``impersonate:MODE``). The legacy mode asks
the second alone (``impersonate``). Nothing that was allowed is remembered but which mode last allowed a requestor
something, which is then tried first and so also is the one whose refusal is told.

Source: kubernetes/apiserver ``pkg/endpoints/filters/impersonation`` (mode.go, constrained_impersonation.go).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from time import perf_counter
from typing import Protocol

from controlplane.apimachinery.service_accounts import NODE_NAME, split_username
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision
from controlplane.apiserver.authorization.messages import forbidden_error
from controlplane.apiserver.filters.impersonation import metrics
from controlplane.apiserver.filters.impersonation.checks import Check, Identity, IdentityChecks, node_name
from controlplane.base import logs

__all__ = ["Modes"]

log = logs.get(__name__)

REMEMBERED_REQUESTORS = 10_000
"""About 100 bytes each."""

ASSOCIATED_NODE_KEYS = "authentication.kubernetes.io/associated-node-keys"


class _Mode(Protocol):
    async def identity(self, wanted: UserInfo, attributes: Attributes) -> Identity | None:
        """Who is impersonated; None: the mode is not for this. Raises APIError: it is, and does not allow it."""


class Modes:
    """All modes over one authorizer."""

    __slots__ = ("_last", "_modes")

    def __init__(self, authorizer: Authorizer) -> None:
        check = _checking(authorizer)
        self._modes: tuple[_Mode, ...] = (
            _Constrained("associated-node", _associated(check), _is_associated_node),
            _Constrained("arbitrary-node", check, _is_node),
            _Constrained("serviceaccount", check, _is_service_account),
            _Constrained("user-info", check, _is_other_user),
            _Legacy(check),
        )
        self._last: OrderedDict[bytes, int] = OrderedDict()

    async def identity(self, wanted: UserInfo, attributes: Attributes) -> Identity:
        """Who is impersonated.

        Args:
            attributes: what the request asks for, as its requestor.

        Raises:
            APIError: 403: no mode allows it; the first one's refusal.
        """
        key = blake2b(attributes.user.name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        last = self._last.get(key)
        order = range(len(self._modes)) if last is None else [last, *(i for i in range(len(self._modes)) if i != last)]
        refused: APIError | None = None
        for at in order:
            try:
                identity = await self._modes[at].identity(wanted, attributes)
            except APIError as error:
                refused = refused or error
                continue
            if identity is not None:
                self._remember(key, at)
                return identity
        assert refused is not None, "the legacy mode is for everybody"
        raise refused

    def _remember(self, key: bytes, mode: int) -> None:
        self._last[key] = mode
        self._last.move_to_end(key)
        if len(self._last) > REMEMBERED_REQUESTORS:
            self._last.popitem(last=False)


class _Constrained:
    """``applies``: whether the mode is for this user, wanted by this requestor."""

    __slots__ = ("_applies", "_check", "_checks", "_name")

    def __init__(self, name: str, check: Check, applies: Callable[[UserInfo, UserInfo], bool]) -> None:
        self._name, self._check, self._applies = name, check, applies
        self._checks = IdentityChecks(check, f"impersonate:{name}", constrained=True)

    async def identity(self, wanted: UserInfo, attributes: Attributes) -> Identity | None:
        if not self._applies(wanted, attributes.user):
            return None
        await self._check(attributes._replace(verb=f"impersonate-on:{self._name}:{attributes.verb}"))
        return await self._checks.identity(wanted, attributes.user)


class _Legacy:
    """What there was before, for good."""

    __slots__ = ("_checks",)

    def __init__(self, check: Check) -> None:
        self._checks = IdentityChecks(check, "impersonate", constrained=False)

    async def identity(self, wanted: UserInfo, attributes: Attributes) -> Identity | None:
        return await self._checks.identity(wanted, attributes.user)


def _checking(authorizer: Authorizer) -> Check:
    async def check(attributes: Attributes) -> None:
        began = perf_counter()
        try:
            decision, reason = await authorizer.authorize(attributes)
        except APIError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever keeps it from deciding, nothing is allowed
            log.warning("cannot authorize an impersonation", error=error)
            decision, reason = Decision.NO_OPINION, str(error)
        metrics.record_check(attributes.verb, decision is Decision.ALLOW, perf_counter() - began)
        if decision is not Decision.ALLOW:
            raise forbidden_error(attributes, reason)

    return check


def _associated(check: Check) -> Check:
    """Checks that are for every node that the requestor may be bound to: his extra values, which name the node, are
    not shown, and the node is any."""

    async def associated(attributes: Attributes) -> None:
        keys = tuple(sorted(attributes.user.extra))
        user = replace(attributes.user, extra={ASSOCIATED_NODE_KEYS: keys})
        name = "*" if attributes.verb == "impersonate:associated-node" else attributes.name
        await check(attributes._replace(user=user, name=name))

    return associated


def _is_associated_node(wanted: UserInfo, requestor: UserInfo) -> bool:
    """Whether a service account wants to be the node that its token is bound to."""
    node = node_name(wanted.name)
    return (
        node is not None
        and _only_named(wanted)
        and split_username(requestor.name) is not None
        and requestor.extra.get(NODE_NAME) == (node,)
    )


def _is_node(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return _only_named(wanted) and node_name(wanted.name) is not None


def _is_service_account(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return _only_named(wanted) and split_username(wanted.name) is not None


def _is_other_user(wanted: UserInfo, _requestor: UserInfo) -> bool:
    return node_name(wanted.name) is None and split_username(wanted.name) is None


def _only_named(user: UserInfo) -> bool:
    return not (user.uid or user.groups or user.extra)
