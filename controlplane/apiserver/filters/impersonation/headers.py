"""Whom a request wants to be: read from its headers, which are then taken out of it.

Source: kubernetes/apiserver ``pkg/endpoints/filters/impersonation`` (processImpersonationHeaders; its text).
"""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.apimachinery.status import bad_request
from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apiserver.authentication.extra_keys import extra_key
from controlplane.client.request import KnownHeaders, Request

__all__ = ["take_wanted_user"]

_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"


def take_wanted_user(request: Request) -> UserInfo | None:
    """The user as the headers have it, nothing added; None: nobody is to be impersonated.

    Raises:
        APIError: 400, something else than a name is to be impersonated, but no name.
    """
    if not _names_somebody(request.headers):
        return None
    wanted, names_extra = _read(request.headers)
    if not wanted.name:
        if wanted.uid or wanted.groups or names_extra:
            raise bad_request(f"requested {_as_go(wanted)} without impersonating a user name")
        return None
    request.headers = CIMultiDict((name, value) for name, value in request.headers.items() if not _is_ours(name))
    return wanted


def _names_somebody(headers: CIMultiDict[str] | CIMultiDictProxy[str]) -> bool:
    """Whether there is any header of ours, or of a name that contains ours."""
    if type(headers) is not KnownHeaders:
        return _PREFIX in "\n".join(headers).lower()
    known = headers.notes.get(_PREFIX)
    if known is None:
        known = headers.notes[_PREFIX] = _PREFIX in "\n".join(headers).lower()
    return bool(known)


def _read(headers: CIMultiDict[str] | CIMultiDictProxy[str]) -> tuple[UserInfo, bool]:
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(_EXTRA):
            key = extra_key(lower[len(_EXTRA) :])
            extra[key] = (*extra.get(key, ()), value)
    wanted = UserInfo(
        name=headers.get("Impersonate-User", ""),
        uid=headers.get("Impersonate-Uid", ""),
        groups=tuple(headers.getall("Impersonate-Group", [])),
        extra=extra,
    )
    return wanted, bool(extra)


def _is_ours(name: str) -> bool:
    lower = name.lower()
    return lower in {"impersonate-user", "impersonate-uid", "impersonate-group"} or lower.startswith(_EXTRA)


def _as_go(user: UserInfo) -> str:
    """As Go's %#v shows it."""
    groups = _list_as_go(user.groups) if user.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if user.extra:
        pairs = (f"{go_quoted(key)}:{_list_as_go(user.extra[key])}" for key in sorted(user.extra))
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    return (
        f"&user.DefaultInfo{{Name:{go_quoted(user.name)}, UID:{go_quoted(user.uid)}, Groups:{groups}, Extra:{extra}}}"
    )


def _list_as_go(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quoted, texts))}}}"
