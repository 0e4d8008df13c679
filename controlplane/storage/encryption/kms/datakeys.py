"""The data keys of one KMS provider: those that are known, and those that are being asked for.

The plugin is asked once for each key, in the background, again and again until it answers. Whoever applies what has
come from the store waits a moment for a key that has not been asked for yet, unless the plugin is known not to answer:
one that is down or slow holds up nobody for longer than ``WAIT_SECONDS``.

Source: kubernetes/apiserver ``pkg/storage/value/encrypt/envelope/kmsv2/cache.go`` (how long keys are kept).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.grpc import Code, RpcError
from controlplane.base.tasks import Owner
from controlplane.storage.encryption.ciphers import Cipher, NotDecryptable
from controlplane.storage.encryption.kms.envelope import DataKey, cipher_of
from controlplane.storage.encryption.kms.service import Encrypted, KMSService, described
from controlplane.storage.encryption.metrics import CACHE_MISSES, DEK_CACHE_SIZE

__all__ = ["DataKeys"]

log = logs.get(__name__)

KEPT_SECONDS = 86_400.0
"""How long a key is kept at least after it was last set."""
WAIT_SECONDS = 1.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
"""Between attempts to get a key."""


class DataKeys:
    """``on_key`` hears that a key has come that somebody could not read without."""

    def __init__(self, name: str, service: KMSService, clock: Clock, owner: Owner, on_key: Callable[[], None]) -> None:
        self._name, self._service, self._clock, self._owner = name, service, clock, owner
        self._on_key = on_key
        self._known: dict[DataKey, tuple[Cipher, float]] = {}
        self._failures: dict[DataKey, str] = {}
        self._first_attempts: dict[DataKey, asyncio.Task[None]] = {}
        self._missed: set[DataKey] = set()
        self._answers = True

    def get(self, key: DataKey) -> Cipher | None:
        known = self._known.get(key)
        return known[0] if known is not None else None

    def miss(self, key: DataKey, encrypted: Encrypted) -> str:
        """A value could not be read for want of this key: ask for it, and say why it is not here."""
        self._missed.add(key)
        self.want({key: encrypted})
        return self._failures.get(key, "the KMS has not answered yet")

    def put(self, key: DataKey, cipher: Cipher) -> None:
        """Keep a key; those that have not been set for long go."""
        now = self._clock.monotonic()
        self._known.pop(key, None)
        self._known[key] = cipher, now + KEPT_SECONDS
        for old, (_, until) in list(self._known.items()):
            if until > now:
                break
            del self._known[old]
        DEK_CACHE_SIZE.labels_cached((self._name,)).set(len(self._known))

    def want(self, keys: dict[DataKey, Encrypted]) -> list[asyncio.Task[None]]:
        """Ask for keys that are not known; what there is to wait for."""
        waits: list[asyncio.Task[None]] = []
        for key, encrypted in keys.items():
            attempt = self._first_attempts.get(key)
            if attempt is None:
                CACHE_MISSES.inc()
                attempt = self._owner.start(self._attempt(key, encrypted), name="data-key")
                self._first_attempts[key] = attempt
                self._owner.start(self._until_known(key, encrypted, attempt), name="data-key-again")
            if self._answers and not attempt.done():
                waits.append(attempt)
        return waits

    async def wait(self, attempts: Iterable[asyncio.Task[None]]) -> None:
        """For the first attempts, a moment at most."""
        _, unfinished = await asyncio.wait(list(attempts), timeout=WAIT_SECONDS)
        if unfinished:
            self._answers = False
            log.warning("the KMS does not answer in time; what it is needed for is unreadable", provider=self._name)

    async def _until_known(self, key: DataKey, encrypted: Encrypted, attempt: asyncio.Task[None]) -> None:
        await asyncio.wait([attempt])
        pause = FIRST_PAUSE_SECONDS
        while key not in self._known:
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            await self._attempt(key, encrypted)
        self._first_attempts.pop(key, None)

    async def _attempt(self, key: DataKey, encrypted: Encrypted) -> None:
        try:
            secret = await self._service.decrypt(encrypted, str(uuid.uuid4()))
            self.put(key, cipher_of(key[0], secret))
        except RpcError as error:
            self._failures[key] = described(error)
            self._answers = error.code not in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
            log.warning("the KMS has not decrypted a data key", provider=self._name, error=self._failures[key])
            return
        except NotDecryptable as error:
            self._failures[key] = str(error)
            return
        self._answers = True
        self._failures.pop(key, None)
        if key in self._missed:
            self._missed.discard(key)
            self._on_key()
