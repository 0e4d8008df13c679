"""Who makes a request: the identity that authentication finds and that everything after it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from controlplane.base.values import dataclass

__all__ = ["ANONYMOUS", "AUTHENTICATED_GROUP", "MASTERS_GROUP", "UNAUTHENTICATED_GROUP", "UserInfo"]

MASTERS_GROUP = "system:masters"
AUTHENTICATED_GROUP = "system:authenticated"
UNAUTHENTICATED_GROUP = "system:unauthenticated"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo:
    """One identity: ``name``, an optional ``uid``, ``groups`` in order, and ``extra`` (key to values)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED_GROUP,))
