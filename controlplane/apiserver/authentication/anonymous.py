"""Requests without credentials: ``system:anonymous``, everywhere or on some paths only.

Source: kubernetes/apiserver ``pkg/authentication/request/anonymous``.
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery.user import ANONYMOUS, UserInfo
from controlplane.client.request import Request

__all__ = ["AnonymousAuthenticator"]


class AnonymousAuthenticator:
    """The last of a union. ``paths``: exactly these are allowed; none given: all are."""

    __slots__ = ("_paths",)

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = frozenset(paths)

    async def authenticate(self, request: Request) -> UserInfo | None:
        return ANONYMOUS if not self._paths or request.path in self._paths else None
