"""Gives service account tokens, and holds the keys that they are verified with.

Keys of the operator's are read at the start, so that a bad file is refused then. A key of the server's own is read when
it is first needed, in a thread, since that imports ``cryptography``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from controlplane.apiserver.authentication.jws import sign
from controlplane.apiserver.authentication.serviceaccounts.claims import Reference, bound_claims, secret_claims
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError, KeySet, SigningKey

__all__ = ["TokenIssuer"]


class TokenIssuer:
    """``read`` reads the keys (it blocks). ``issuer`` is the name that tokens are given in."""

    def __init__(self, read: Callable[[], KeySet], *, issuer: str) -> None:
        self._read, self._issuer = read, issuer
        self._keys: KeySet | None = None
        self._reading: asyncio.Future[KeySet] | None = None

    def load(self) -> None:
        """Read the keys now. Blocks.

        Raises:
            KeyFileError.
        """
        self._keys = self._read()

    async def keys(self) -> KeySet:
        """The keys; read once, whoever asks meanwhile waits.

        Raises:
            KeyFileError.
        """
        if self._keys is not None:
            return self._keys
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        try:
            self._keys = await asyncio.shield(reading)
        finally:
            if reading.done():
                self._reading = None  # what failed is tried again
        return self._keys

    async def give(
        self,
        *,
        namespace: str,
        account: Reference,
        secret: Reference | None,
        audiences: list[str],
        now_seconds: int,
        seconds: int,
        new_id: Callable[[], str],
    ) -> str:
        """A token for a service account, good from now on for ``seconds``.

        Raises:
            KeyFileError: there is no key to sign with.
        """
        claims: dict[str, Any] = bound_claims(
            namespace=namespace,
            account=account,
            secret=secret,
            audiences=audiences,
            issuer=self._issuer,
            now_seconds=now_seconds,
            seconds=seconds,
            new_id=new_id,
        )
        return await self._signed(claims)

    async def give_legacy(self, namespace: str, name: str, uid: str, secret_name: str) -> str:
        """A token to be kept in a secret, which does not expire.

        Raises:
            KeyFileError: there is no key to sign with.
        """
        return await self._signed(secret_claims(namespace, Reference(name, uid), secret_name))

    async def _signed(self, claims: dict[str, Any]) -> str:
        signing: SigningKey | None = (await self.keys()).signing
        if signing is None:
            raise KeyFileError("there is no key to sign with")
        made = partial(sign, claims, signing.key, algorithm=signing.algorithm, key_id=signing.key_id)
        return await asyncio.to_thread(made)  # a long RSA key takes some milliseconds
