"""The metadata that the server owns: wiped from what clients send, filled in, kept over updates.

Source: kubernetes/apiserver ``pkg/registry/rest`` (meta.go, create.go, update.go), ``pkg/endpoints/handlers/rest.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.codec.json import dumps_sorted
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.status import APIError, bad_request
from controlplane.apiserver.registry.settings import RegistrySettings

__all__ = [
    "check_name",
    "deduplicate_owners",
    "ensure_namespace",
    "fill_system_fields",
    "keep_system_fields",
    "parse_revision",
    "wipe_system_fields",
]

_SYSTEM_FIELDS = frozenset({"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
_MAX_REVISION = 2**64 - 1


def wipe_system_fields(meta: Obj) -> None:
    """Forget what a client says of fields that only the server sets."""
    for name in _SYSTEM_FIELDS.intersection(meta):
        del meta[name]


def fill_system_fields(meta: Obj, settings: RegistrySettings) -> None:
    meta["creationTimestamp"], meta["uid"] = settings.now(), settings.new_uid()


def ensure_namespace(meta: Obj, expected: str) -> None:
    """Make the object's namespace the request's (``""``: cluster-scoped, none).

    Raises:
        APIError: 400, it names another.
    """
    given = meta.get("namespace") or ""
    if given == expected:
        return
    if not expected:
        del meta["namespace"]
    elif not given:
        meta["namespace"] = expected
    else:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(obj: Obj, name: str) -> None:
    """Require the object's name to be the one of the URL.

    Raises:
        APIError: 400.
    """
    given = metadata(obj).get("name")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def keep_system_fields(meta: Obj, old: Obj) -> None:
    """Give an updated object the server's fields of the stored one, where it may not change them."""
    if not meta.get("uid") and old.get("uid"):
        meta["uid"] = old["uid"]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if old.get(name):
            meta[name] = old[name]
    if old.get("deletionGracePeriodSeconds") is not None and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def deduplicate_owners(meta: Obj, warn: Callable[[str], None], *, after_admission: bool) -> None:
    """Keep the first of equal owner references, with a warning that names the repeated ones."""
    owners: list[Any] | None = meta.get("ownerReferences")
    if not owners or len(owners) == 1:
        return
    kept: list[Any] = []
    repeated: list[str] = []
    seen: set[bytes] = set()
    for owner in owners:
        spelled = dumps_sorted(owner)
        if spelled in seen:
            repeated.append(str(owner.get("uid", "")))
        else:
            seen.add(spelled)
            kept.append(owner)
    if repeated:
        meta["ownerReferences"] = kept
        when = " after mutating admission happens" if after_admission else ""
        warn(_DUPLICATE_OWNERS.format(when=when, uids=", ".join(repeated)))


def parse_revision(meta: Obj) -> int:
    """``metadata.resourceVersion`` as a number; unset or ``"0"`` is 0.

    Raises:
        APIError: 500 without a reason, as upstream, for what is no number.
    """
    text = meta.get("resourceVersion")
    if not text:
        return 0
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise APIError(500, "", f'strconv.ParseUint: parsing "{text}": invalid syntax')
    if int(text) > _MAX_REVISION:
        raise APIError(500, "", f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)
