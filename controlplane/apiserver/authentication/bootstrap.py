"""Bootstrap tokens: short-lived tokens for programs that join, each kept in a secret of ``kube-system``.

Source: kubernetes' ``plugin/pkg/auth/authenticator/token/bootstrap`` and ``cluster-bootstrap/token``.
"""

from __future__ import annotations

import binascii
import hmac
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.base import logs
from controlplane.storage.api import ANY, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["BootstrapTokens"]

log = logs.get(__name__)

NAMESPACE = "kube-system"
SECRET_TYPE = "bootstrap.kubernetes.io/token"  # noqa: S105  # a type's name
DEFAULT_GROUP = "system:bootstrappers"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """See ``tokens.PlainTokens``. A token that is not good is nobody's, whatever is wrong with it."""

    __slots__ = ("_now", "_storage_of")

    def __init__(self, storage_of: Callable[[str, str], Storage | None], *, now: Callable[[], float]) -> None:
        self._storage_of, self._now = storage_of, now

    async def user_of(self, token: str) -> UserInfo | None:
        """The user ``system:bootstrap:ID``; None: not a bootstrap token, or not a good one.

        Raises:
            BadCredentials: secrets cannot be read now.
        """
        match, storage = _TOKEN.fullmatch(token), self._storage_of("", "secrets")
        if match is None or storage is None:
            return None
        token_id, secret = match.groups()
        try:
            entry = await storage.get(Key(NAMESPACE, f"bootstrap-token-{token_id}"), ANY)
            obj = await storage.decode(entry, "v1")
        except KeyNotFound:
            return None
        except StorageError as error:
            raise BadCredentials(f"secrets cannot be read: {error}") from error
        data = _texts(obj.get("data") or {})
        if meta.is_being_deleted(obj) or obj.get("type") != SECRET_TYPE:
            return None
        if not hmac.compare_digest(data.get("token-secret", ""), secret) or data.get("token-id") != token_id:
            return None
        groups = _groups(data.get("auth-extra-groups", ""))
        if groups is None or self._has_ended(data) or data.get("usage-bootstrap-authentication") != "true":
            log.debug("bootstrap token is not usable", token_id=token_id)
            return None
        return UserInfo(name=f"system:bootstrap:{token_id}", groups=groups)

    def _has_ended(self, data: Mapping[str, str]) -> bool:
        text = data.get("expiration", "")
        if not text:
            return False
        try:
            ends = datetime.fromisoformat(text)
        except ValueError:
            return True
        return ends.replace(tzinfo=ends.tzinfo or UTC).timestamp() <= self._now()


def _texts(data: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for key, value in data.items():
        try:
            texts[key] = b64decode(value).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue  # none of ours is of that kind
    return texts


def _groups(extra: str) -> tuple[str, ...] | None:
    """All groups, sorted; None: one of them may not be given."""
    names = [name for name in extra.split(",") if name]
    if any(_GROUP.fullmatch(name) is None for name in names):
        return None
    return tuple(sorted({DEFAULT_GROUP, *names}))
