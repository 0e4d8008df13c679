"""Discovery documents of other servers, looked at before they are believed: whoever reads them further relies on every
field that is named here having its type. What is not named here is kept as it is.

Source: kubernetes/api ``apidiscovery/v2`` and kubernetes/apimachinery ``pkg/apis/meta/v1`` (APIResource): the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.identity import Obj

__all__ = ["NotDiscovery", "groups_of", "resources_of"]

_SHOWN_CHARACTERS = 80
_GROUP = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)?")
"""The core group has no name."""
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?")

Check = Callable[[Any, str], None]
"""Looks at a value, whose place is the text. Raises NotDiscovery."""


class NotDiscovery(ValueError):
    """A document is not what it should be; the text says where."""


def groups_of(document: Obj) -> list[Obj]:
    """The groups of an aggregated document. Kinds that it leaves out are empty, as old clients need them.

    Raises:
        NotDiscovery.
    """
    groups = _entries(document, "items", _GROUPS)
    for group in groups:
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                resource["responseKind"] = resource.get("responseKind") or {"group": "", "version": "", "kind": ""}
    return groups


def resources_of(document: Obj) -> list[Obj]:
    """The entries of the list of a version's resources.

    Raises:
        NotDiscovery.
    """
    return _entries(document, "resources", _LISTED)


def _entries(document: Obj, name: str, check: Check) -> list[Obj]:
    """Null, as Go writes lists without entries, is an empty list."""
    if name not in document:
        raise NotDiscovery(f"there are no {name}")
    entries = document[name]
    if entries is None:
        return []
    check(entries, name)
    return list(entries)


def _refused(value: Any, place: str, wanted: str) -> NotDiscovery:
    return NotDiscovery(f"{place}: {repr(value)[:_SHOWN_CHARACTERS]} is not {wanted}")


def _is(kind: type, wanted: str) -> Check:
    def check(value: Any, place: str) -> None:
        if not isinstance(value, kind):
            raise _refused(value, place, wanted)

    return check


def _like(form: re.Pattern[str], wanted: str) -> Check:
    def check(value: Any, place: str) -> None:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise _refused(value, place, wanted)

    return check


def _list(of: Check) -> Check:
    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise _refused(value, place, "a list")
        for number, one in enumerate(value):
            of(one, f"{place}[{number}]")

    return check


def _object(*, required: dict[str, Check], optional: dict[str, Check]) -> Check:
    """``optional`` ones may be null, too."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _refused(value, place, "an object")
        before = f"{place}." if place else ""
        for name, check_one in required.items():
            check_one(value.get(name), before + name)
        for name, check_one in optional.items():
            one = value.get(name)
            if one is not None:
                check_one(one, before + name)

    return check


_TEXT = _is(str, "text")
_TEXTS = _list(_TEXT)
_ONE_NAME = _like(_NAME, "a name")
_KIND = _object(required={}, optional={"group": _TEXT, "version": _TEXT, "kind": _TEXT})
_SUBRESOURCE = _object(
    required={"subresource": _ONE_NAME},
    optional={"responseKind": _KIND, "acceptedTypes": _list(_KIND), "verbs": _TEXTS},
)
_RESOURCE = _object(
    required={"resource": _ONE_NAME},
    optional={
        "responseKind": _KIND,
        "scope": _TEXT,
        "singularResource": _TEXT,
        "verbs": _TEXTS,
        "shortNames": _TEXTS,
        "categories": _TEXTS,
        "subresources": _list(_SUBRESOURCE),
    },
)
_VERSION = _object(required={"version": _ONE_NAME}, optional={"resources": _list(_RESOURCE), "freshness": _TEXT})
_GROUP_METADATA = _object(required={}, optional={"name": _like(_GROUP, "a group's name")})
_GROUPS = _list(_object(required={"metadata": _GROUP_METADATA}, optional={"versions": _list(_VERSION)}))
_LISTED = _list(
    _object(
        required={"name": _TEXT},
        optional={
            **dict.fromkeys(("singularName", "group", "version", "kind", "storageVersionHash"), _TEXT),
            **dict.fromkeys(("verbs", "shortNames", "categories"), _TEXTS),
            "namespaced": _is(bool, "true or false"),
        },
    )
)
