"""Authorization: whether a user may do what a request asks for.

Authorizers are asked in order; the first ALLOW or DENY counts, and who gets NO_OPINION from all is refused.

Source: kubernetes/apiserver ``pkg/authorization/authorizer``.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

from controlplane.apimachinery.user import UserInfo
from controlplane.client.request_info import RequestInfo

__all__ = ["AllowsAll", "Attributes", "Authorizer", "Decision", "DeniedByFailure", "attributes_of"]


class Decision(Enum):
    """ALLOW and DENY end the search; NO_OPINION passes the question on."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class DeniedByFailure(Exception):
    """An authorizer could not decide, and is set up so that nobody else then decides either."""


class Attributes(NamedTuple):
    """What is asked. For a non-resource request only ``user``, ``verb`` and ``path`` say anything. Selectors are the
    request's texts, for authorizers that read them."""

    user: UserInfo
    verb: str
    is_resource: bool = True
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""


_new = tuple.__new__
"""Half the cost of calling the class, which sorts out defaults and keywords; it is made for every request."""


def attributes_of(user: UserInfo, info: RequestInfo) -> Attributes:
    """What a request asks for."""
    return _new(
        Attributes,
        (
            user,
            info.verb,
            info.is_resource,
            info.group,
            info.version,
            info.resource,
            info.subresource,
            info.namespace,
            info.name,
            info.path,
            info.field_selector,
            info.label_selector,
        ),
    )


@runtime_checkable
class AllowsAll(Protocol):
    """An authorizer that knows of some users that they may do everything."""

    def allows_all(self, user: UserInfo) -> bool:
        """Whether ``authorize`` would allow this user whatever is asked; False: it must be asked."""


class Authorizer(Protocol):
    """Decides on attributes."""

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        """The decision and its reason (``""``: none), which a refused client sees after the message.

        Raises whatever keeps it from deciding: the request is then answered 500, never allowed.
        """
