"""Bearer tokens: given once, in a file that somebody renews, or asked for a service account's.

Source: kubernetes/client-go ``transport`` (a file is read again after a minute at most).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.errors import BadAnswer, Unreachable
from controlplane.client.results import object_of, raise_for_status

__all__ = ["AccountToken", "FileToken", "TokenSource"]

_KEPT_SECONDS = 60.0
"""How long a token read is used before the file is read again."""

log = logs.get(__name__)


_ACCOUNT_SECONDS = 3600
_RENEW_AFTER = 0.8
"""A token of a service account is asked for anew when this part of its time is over."""
_ACCOUNTS = GroupResource("", "serviceaccounts")


class TokenSource(Protocol):
    """Whoever knows the token to use now."""

    async def get(self) -> str:
        """The token. Raises APIError, ClientError: there is none."""


class FileToken:
    """The token in ``path``, read in a thread at most once a minute. While it cannot be read the last one is used."""

    __slots__ = ("_clock", "_path", "_read_at", "_token")

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._token = ""
        self._read_at = float("-inf")

    async def get(self) -> str:
        """The token to use now.

        Raises:
            Unreachable: the file has never been readable.
        """
        now = self._clock.monotonic()
        if now - self._read_at < _KEPT_SECONDS:
            return self._token
        self._read_at = now
        try:
            token = (await asyncio.to_thread(self._path.read_text)).strip()
        except OSError as e:
            if not self._token:
                self._read_at = float("-inf")
                raise Unreachable(f"token file {self._path}: {e}", sent=False) from e
            log.warning("token file cannot be read, using the last token", path=str(self._path), error=e)
            return self._token
        self._token = token
        return token


class AccountToken:
    """The token of a service account, asked for through ``client`` and renewed before it ends. The account is made if
    it is not there, as Kubernetes' controller manager does.

    Source: kubernetes/kubernetes ``pkg/controller/client_builder_dynamic.go``.
    """

    __slots__ = ("_client", "_clock", "_lock", "_name", "_namespace", "_renew_at", "_token")

    def __init__(self, client: APIClient, namespace: str, name: str, clock: Clock) -> None:
        self._client, self._namespace, self._name, self._clock = client, namespace, name, clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._renew_at = float("-inf")

    async def get(self) -> str:
        """The token to use now.

        Raises:
            APIError, Unreachable: the server gives none.
        """
        if self._clock.monotonic() < self._renew_at:
            return self._token
        async with self._lock:
            if self._clock.monotonic() >= self._renew_at:
                await self._renew()
        return self._token

    async def _renew(self) -> None:
        asked_at = self._clock.monotonic()
        try:
            token = await self._ask()
        except APIError as e:
            if e.code != 404:
                raise
            await self._make_account()
            token = await self._ask()
        self._token, self._renew_at = token, asked_at + _RENEW_AFTER * _ACCOUNT_SECONDS

    async def _ask(self) -> str:
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/{self._name}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _ACCOUNT_SECONDS},
        }
        response = await self._client.request("POST", path, body=dumps(request))
        raise_for_status(response, "POST", _ACCOUNTS, self._name)
        token = (object_of(response).get("status") or {}).get("token")
        if not isinstance(token, str) or not token:
            raise BadAnswer(f"{path}: the answer has no token")
        return token

    async def _make_account(self) -> None:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self._name}}
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts"
        response = await self._client.request("POST", path, body=dumps(account))
        if response.status != 409:  # somebody has made it meanwhile
            raise_for_status(response, "POST", _ACCOUNTS, self._name)
