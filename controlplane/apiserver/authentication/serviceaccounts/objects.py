"""The service accounts and secrets that tokens are bound to, as they are now.

They are looked up for every request that shows a token, so that a token ends with them: in the mirror, and, where that
does not have the object or has another of the name, in the store itself, so that nobody is refused because the mirror
is a moment behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.base.values import dataclass
from controlplane.storage.api import ANY, CONSISTENT, Freshness, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["Account", "LiveObjects", "TokenSecret"]

KNOWN_LIMIT = 8192
"""Objects of each kind that are remembered, some 500 bytes each; when full, all are read anew as they are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A service account. ``deleted_at``: seconds since 1970 when its deletion was asked for, None: it was not.
    ``secrets``: names of the secrets that it names."""

    uid: str
    deleted_at: float | None
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSecret:
    """A secret. ``token``: base64 of what is kept under ``token``; ``""``: nothing is."""

    uid: str
    deleted_at: float | None
    token: str
    labels: Mapping[str, str]


T = TypeVar("T", bound="_Known")


class _Known(Protocol):
    @property
    def uid(self) -> str: ...


class LiveObjects:
    """``storage_of`` finds the storage of a served resource by group and plural; None: it is not served."""

    __slots__ = ("_accounts", "_secrets")

    def __init__(self, storage_of: Callable[[str, str], Storage | None]) -> None:
        self._accounts = _Kind(storage_of, "serviceaccounts", _account)
        self._secrets = _Kind(storage_of, "secrets", _secret)

    async def account(self, namespace: str, name: str, *, uid: str) -> Account | None:
        """The service account; None: there is none. Looks again where its uid is not the expected one.

        Raises:
            BadCredentials: it cannot be known now.
        """
        return await self._accounts.find(Key(namespace, name), uid)

    async def secret(self, namespace: str, name: str, *, uid: str = "") -> TokenSecret | None:
        """The secret; as ``account``. ``uid`` ``""``: any will do."""
        return await self._secrets.find(Key(namespace, name), uid)


class _Kind(Generic[T]):
    """Objects of one kind, read once for each of their revisions."""

    __slots__ = ("_known", "_plural", "_read", "_storage_of")

    def __init__(self, storage_of: Callable[[str, str], Storage | None], plural: str, read: Callable[[Obj], T]) -> None:
        self._storage_of, self._plural = storage_of, plural
        self._read: Callable[[Obj], T] = read
        self._known: dict[Key, tuple[int, T]] = {}

    async def find(self, key: Key, uid: str) -> T | None:
        storage = self._storage_of("", self._plural)
        if storage is None:
            return None
        try:
            found = await self._find(storage, key, ANY)
            if found is None or (uid and found.uid != uid):
                found = await self._find(storage, key, CONSISTENT)
        except StorageError as error:
            raise BadCredentials(f"{self._plural} cannot be read: {error}") from error
        return found

    async def _find(self, storage: Storage, key: Key, fresh: Freshness) -> T | None:
        try:
            entry = await storage.get(key, fresh)
        except KeyNotFound:
            self._known.pop(key, None)
            return None
        known = self._known.get(key)
        if known is not None and known[0] == entry.mod_revision:
            return known[1]
        value = self._read(await storage.decode(entry, "v1"))
        if len(self._known) >= KNOWN_LIMIT:
            self._known = {}
        self._known[key] = (entry.mod_revision, value)
        return value


def _account(obj: Obj) -> Account:
    secrets = frozenset(secret.get("name", "") for secret in obj.get("secrets") or ())
    return Account(uid=meta.uid(obj), deleted_at=_deleted_at(obj), secrets=secrets)


def _secret(obj: Obj) -> TokenSecret:
    token = (obj.get("data") or {}).get("token") or ""
    return TokenSecret(uid=meta.uid(obj), deleted_at=_deleted_at(obj), token=token, labels=dict(meta.labels(obj)))


def _deleted_at(obj: Obj) -> float | None:
    text = meta.deletion_timestamp(obj)
    return meta.parse_time(text).timestamp() if text else None
