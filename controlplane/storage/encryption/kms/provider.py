"""A KMS provider: its own data key for writes, its health, and the change of both when the KMS changes its key.

A data key is good as long as the plugin says that its key is the same; when the plugin does not answer, for
``WRITE_SECONDS`` more. Reads go on for as long as the data keys are in memory.

Source: kubernetes/apiserver ``pkg/server/options/encryptionconfig/config.go`` (rules, times, texts).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import NamedTuple

from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339
from controlplane.base.grpc import RpcError
from controlplane.base.tasks import Owner
from controlplane.storage.encryption.ciphers import SEED_BYTES, DerivedGcm, NotDecryptable
from controlplane.storage.encryption.configuration import KMSConfig
from controlplane.storage.encryption.kms import kms_pb2 as pb
from controlplane.storage.encryption.kms.datakeys import DataKeys
from controlplane.storage.encryption.kms.envelope import (
    SEED,
    DataKey,
    data_key_of,
    decode,
    encode,
    encrypted_of,
    key_id_problem,
    problems,
)
from controlplane.storage.encryption.kms.service import Encrypted, KMSService, described
from controlplane.storage.encryption.metrics import (
    FROM_STORAGE,
    INVALID_KEY_IDS,
    KEY_GENERATION,
    TO_STORAGE,
    KeyMetrics,
    hashed,
)
from controlplane.storage.encryption.providers import Secret, aggregated
from controlplane.storage.errors import EncryptionFailed
from controlplane.storage.transform import Plain

__all__ = ["KMSProvider"]

log = logs.get(__name__)

PREFIX = "k8s:enc:kms:v2:"
VERSIONS = ("v2", "v2beta1")

HEALTHY_SECONDS, UNHEALTHY_SECONDS = 20.0, 3.0
"""How often the plugin is asked for its status: as often as upstream lets a health check ask."""
WRITE_SECONDS = 180.0


class _WriteKey(NamedTuple):
    """What values are encrypted by. ``until``: in seconds since 1970."""

    cipher: DerivedGcm
    encrypted: Encrypted
    name: DataKey
    key_id_hash: str
    until: float


class KMSProvider:
    """See ``providers.StorageProvider``. ``trouble``: what is wrong with the plugin, None if nothing is.

    ``on_key``: hears of data keys that have come late.
    """

    def __init__(self, config: KMSConfig, *, server_id: str, clock: Clock, on_key: Callable[[], None]) -> None:
        self.config, self._clock = config, clock
        self.label = f"{PREFIX}{config.name}:"
        self.prefix = self.label.encode()
        self.trouble: str | None = None
        self._service = KMSService(config)
        self._owner = Owner(f"kms.{config.name}")
        self._keys = DataKeys(config.name, self._service, clock, self._owner, on_key)
        self._metrics = KeyMetrics(config.name, server_id)
        self._write_key: _WriteKey | None = None
        self._version = ""

    async def start(self) -> None:
        """Ask the plugin once, then go on asking. That it does not answer is no error: it may come up later."""
        await self.probe()
        self._owner.start(self._poll(), name="status")

    async def close(self) -> None:
        """Stop asking. Idempotent."""
        await self._owner.close()
        await self._service.close()

    @property
    def write_key_id(self) -> str:
        return self._key_id(self._write_key.key_id_hash if self._write_key is not None else "")

    @property
    def reads(self) -> frozenset[Secret]:
        return frozenset((self._key_id(""),))

    def seal(self, key: bytes, plain: bytes) -> bytes:
        """See ``StorageProvider.seal``."""
        own = self._write_key
        if own is None:
            raise EncryptionFailed(self.trouble or "got unexpected nil transformer")
        now = self._clock.now()
        if now > own.until:
            raise EncryptionFailed(
                f'encryptedDEKSource with keyID hash "{own.key_id_hash}" expired at {rfc3339(own.until)} '
                f"(current time is {rfc3339(now)})"
            )
        self._metrics.used(TO_STORAGE, own.key_id_hash, now)
        return self.prefix + encode(own.encrypted, own.cipher.encrypt(plain, key))

    def open(self, key: bytes, stored: bytes) -> Plain:
        """See ``StorageProvider.open``."""
        value = decode(stored[len(self.prefix) :])
        encrypted = encrypted_of(value)
        name = data_key_of(value.source_type, encrypted)
        cipher = self._keys.get(name)
        if cipher is None:
            raise NotDecryptable(f"failed to decrypt DEK, error: {self._keys.miss(name, encrypted)}")
        key_id_hash = hashed(value.key_id)
        self._metrics.used(FROM_STORAGE, key_id_hash, self._clock.now())
        return Plain(cipher.decrypt(value.data, key), self._key_id(key_id_hash), stale=value.source_type != SEED)

    def fetch(self, stored: Iterable[bytes]) -> Awaitable[None] | None:
        """See ``Transformer.fetch``; values of others are passed over."""
        missing: dict[DataKey, Encrypted] = {}
        for value in stored:
            if value.startswith(self.prefix):
                try:
                    decoded = decode(value[len(self.prefix) :])
                except NotDecryptable:
                    continue  # said when it is read
                encrypted = encrypted_of(decoded)
                name = data_key_of(decoded.source_type, encrypted)
                if self._keys.get(name) is None:
                    missing[name] = encrypted
        waits = self._keys.want(missing)
        return self._keys.wait(waits) if waits else None

    async def probe(self) -> None:
        """Ask the plugin for its status, and take up a changed key."""
        try:
            why = await self._judge(await self._service.status())
        except RpcError as error:
            why = (
                "failed to perform status section of the healthz check for KMS Provider "
                f"{self.config.name}, error: {described(error)}"
            )
        if why is not None and self.trouble is None:
            log.warning("KMS plugin failed its health check", provider=self.config.name, error=why)
        self.trouble = why

    async def _poll(self) -> None:
        while True:
            await self._clock.sleep(HEALTHY_SECONDS if self.trouble is None else UNHEALTHY_SECONDS)
            await self.probe()

    async def _judge(self, status: pb.StatusResponse) -> str | None:
        """What is wrong, if anything."""
        errors: list[str] = []
        if status.healthz != "ok":
            errors.append(f"got unexpected healthz status: {status.healthz}")
        if status.version not in VERSIONS:
            errors.append(f"expected KMSv2 API version v2, got {status.version}")
        else:
            self._version = self._version or status.version
            if self._version != status.version:
                errors.append(
                    "KMSv2 API version should not change after the initial status response version "
                    f"{self._version}, got {status.version}"
                )
        if why := key_id_problem(status.key_id):
            INVALID_KEY_IDS.labels_cached((self.config.name, "too_long" if status.key_id else "empty")).inc()
            errors.append(f'got invalid KMSv2 KeyID hash "{hashed(status.key_id)}": {why}')
        else:
            self._metrics.reported(hashed(status.key_id), self._clock.now())
            if why := await self._take_up(status.key_id):
                errors.append(why)
        return f"kmsv2 Provider {self.config.name} is not healthy, error: {aggregated(errors)}" if errors else None

    async def _take_up(self, key_id: str) -> str:
        """Make a data key under the KMS's current key, unless ours is; what went wrong, ``""`` if nothing did."""
        until = self._clock.now() + WRITE_SECONDS  # from before the call, so that it is no longer than that
        own, uid = self._write_key, str(uuid.uuid4())
        if own is not None and own.encrypted.key_id == key_id:
            self._keys.put(own.name, own.cipher)  # so that what is in use is never let go
            self._write_key = own._replace(until=until)
            return ""
        begun = perf_counter()
        seed = os.urandom(SEED_BYTES)
        KEY_GENERATION.observe(perf_counter() - begun)
        encrypted, why = None, ""
        try:
            encrypted = await self._service.encrypt(seed, uid)
            why = next(problems(SEED, encrypted, has_data=True), "")
        except RpcError as error:
            why = f"failed to encrypt DEK, error: {described(error)}"
        if encrypted is not None and not why and encrypted.key_id == key_id:
            name = data_key_of(SEED, encrypted)
            cipher = DerivedGcm(seed)
            self._keys.put(name, cipher)
            self._write_key = _WriteKey(cipher, encrypted, name, hashed(key_id), until)
            log.info("data key made", provider=self.config.name, key_id_hash=hashed(key_id), uid=uid)
            return ""
        return (
            f'failed to rotate DEK uid="{uid}", errGen={why or "<nil>"}, statusKeyIDHash="{hashed(key_id)}", '
            f'encryptKeyIDHash="{hashed(encrypted.key_id) if encrypted else ""}", '
            f'stateKeyIDHash="{own.key_id_hash if own else ""}"'
        )

    def _key_id(self, key_id_hash: str) -> str:
        return f"kms:{self.config.name}:{key_id_hash}"
