"""What must be allowed to whoever wants to be somebody else: each part of that identity by its own.

Source: kubernetes/apiserver ``pkg/endpoints/filters/impersonation/mode.go`` (its texts).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from controlplane.apimachinery.service_accounts import groups_of, split_username
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    MASTERS_GROUP,
    UNAUTHENTICATED_GROUP,
    UserInfo,
)
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apimachinery.validation.paths import domain_prefixed_path
from controlplane.apiserver.authorization.api import Attributes
from controlplane.apiserver.authorization.messages import forbidden_error

__all__ = ["Check", "Identity", "IdentityChecks", "node_name"]

AUTHENTICATION_GROUP = "authentication.k8s.io"
NODES_GROUP = "system:nodes"
NODE_PREFIX = "system:node:"

MANY_CHECKS = 4
"""From so many checks on, constrained impersonation first asks whether all values are allowed at once."""

Check = Callable[[Attributes], Awaitable[None]]
"""Returns if the attributes are allowed; raises APIError, 403, if not."""


class Identity(NamedTuple):
    """Who is impersonated, completed. ``constraint``: the verb that allowed it; ``""`` for legacy impersonation."""

    user: UserInfo
    constraint: str


class IdentityChecks:
    """Checks the parts of an identity with one verb. ``constrained``: nodes and service accounts are told from other
    users, and what is dangerous is not allowed to anybody."""

    def __init__(self, check: Check, verb: str, *, constrained: bool) -> None:
        self._check, self._verb, self._constrained = check, verb, constrained
        self._group, self._version = (AUTHENTICATION_GROUP, "v1") if constrained else ("", "v1")

    async def identity(self, wanted: UserInfo, requestor: UserInfo) -> Identity:
        """The user as he will be.

        Raises:
            APIError: 403, a part of it is not allowed.
        """
        groups = await self._username(wanted, requestor)
        if wanted.uid:
            await self._check(self._of(requestor, AUTHENTICATION_GROUP, "uids", wanted.uid))
        if wanted.groups:
            await self._groups(wanted.groups, requestor)
        if wanted.extra:
            await self._extra(wanted.extra, requestor)
        if wanted.name == ANONYMOUS.name:
            groups = _with(groups, UNAUTHENTICATED_GROUP)
        elif UNAUTHENTICATED_GROUP not in groups:
            groups = _with(groups, AUTHENTICATED_GROUP)
        return Identity(replace(wanted, groups=groups), self._verb if self._constrained else "")

    def _of(self, requestor: UserInfo, group: str, resource: str, name: str) -> Attributes:
        return Attributes(
            user=requestor, verb=self._verb, group=group, version=self._version, resource=resource, name=name
        )

    async def _username(self, wanted: UserInfo, requestor: UserInfo) -> tuple[str, ...]:
        """Check the name; the groups that the user has then."""
        attributes = self._of(requestor, self._group, "users", wanted.name)
        groups = wanted.groups
        node = node_name(wanted.name) if self._constrained else None
        account = split_username(wanted.name)
        if node is not None:
            attributes, groups = attributes._replace(resource="nodes", name=node), (NODES_GROUP,)
        elif account is not None:
            attributes = attributes._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
            groups = groups or groups_of(account[0])
        await self._check(attributes)
        return groups

    async def _groups(self, groups: tuple[str, ...], requestor: UserInfo) -> None:
        attributes = self._of(requestor, self._group, "groups", "")
        if self._constrained:
            if "" in groups:
                raise forbidden_error(attributes, "impersonating the empty string group is not allowed")
            if MASTERS_GROUP in groups:
                attributes = attributes._replace(name=MASTERS_GROUP)
                raise forbidden_error(attributes, "impersonating the system:masters group is not allowed")
            if len(groups) >= MANY_CHECKS and await self._allows(attributes._replace(name="*")):
                return
        for group in groups:
            await self._check(attributes._replace(name=group))

    async def _extra(self, extra: Mapping[str, tuple[str, ...]], requestor: UserInfo) -> None:
        attributes = self._of(requestor, AUTHENTICATION_GROUP, "userextras", "")
        if self._constrained:
            problem = _extra_problem(extra)
            if problem:
                raise forbidden_error(attributes, problem)
            many = len(extra) >= MANY_CHECKS or sum(map(len, extra.values())) >= MANY_CHECKS
            if many and await self._allows(attributes._replace(subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                await self._check(attributes._replace(subresource=key, name=value))

    async def _allows(self, attributes: Attributes) -> bool:
        try:
            await self._check(attributes)
        except APIError:
            return False
        return True


def node_name(username: str) -> str | None:
    """The node that a user name is of; None: it is no node's."""
    name = username.removeprefix(NODE_PREFIX)
    return None if name == username or name_is_dns_subdomain(name, False) else name


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """What constrained impersonation has against these values; ``""``: nothing."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        problems = list(dict.fromkeys(map(str, domain_prefixed_path("extra.key", key))))
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            return f"impersonating an invalid key in extra is not allowed: {text}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {go_quoted(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""
