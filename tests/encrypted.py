"""What tests of encryption at rest share: configuration files, and stored values decrypted without our own code.

The formats are Kubernetes' published ones: a prefix that names provider and key, then for

* ``aescbc``: a vector of 16 bytes, AES-CBC with PKCS #7 padding
* ``aesgcm``: a nonce of 12 bytes, AES-GCM bound to the value's key in the store
* ``secretbox``: a nonce of 24 bytes, NaCl's secretbox
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7
from nacl.bindings import crypto_secretbox_open

from controlplane.apimachinery.identity import Key
from controlplane.base.clock import SystemClock
from controlplane.storage.api import Storage
from controlplane.storage.cache import Mirror
from controlplane.storage.cache.ring import Change
from controlplane.storage.encryption.encryption import Encryption
from controlplane.storage.kv.api import KV
from tests.mirrors import CONFIGMAPS, opened

__all__ = [
    "IDENTITY",
    "Told",
    "decrypted",
    "encrypted",
    "keys",
    "new_secret",
    "rule",
    "stored",
    "write_config",
]

IDENTITY: dict[str, Any] = {"identity": {}}


def new_secret(size: int = 32) -> bytes:
    return os.urandom(size)


def keys(kind: str, **secrets: bytes) -> dict[str, Any]:
    """A provider with keys, in order."""
    listed = [{"name": name, "secret": base64.b64encode(secret).decode()} for name, secret in secrets.items()]
    return {kind: {"keys": listed}}


def rule(*providers: dict[str, Any], resources: tuple[str, ...] = ("configmaps",)) -> dict[str, Any]:
    return {"resources": list(resources), "providers": list(providers)}


def write_config(path: Path, *rules: dict[str, Any]) -> Path:
    """Write a file, in one step."""
    content = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": list(rules)}
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(content))
    beside.rename(path)
    return path


def decrypted(kind: str, name: str, secret: bytes, key: bytes, stored: bytes) -> bytes:
    """The plain bytes of a stored value that must be under this key."""
    prefix = f"k8s:enc:{kind}:v1:{name}:".encode()
    assert stored.startswith(prefix), stored[:60]
    body = stored[len(prefix) :]
    if kind == "aescbc":
        decryptor = Cipher(algorithms.AES(secret), modes.CBC(body[:16])).decryptor()
        padded = decryptor.update(body[16:]) + decryptor.finalize()
        unpadder = PKCS7(128).unpadder()
        return unpadder.update(padded) + unpadder.finalize()
    if kind == "aesgcm":
        return AESGCM(secret).decrypt(body[:12], body[12:], key)
    assert kind == "secretbox"
    return crypto_secretbox_open(body[24:], body[:24], secret)


@asynccontextmanager
async def encrypted(file: Path, kv: KV) -> AsyncIterator[tuple[Mirror, Storage, Encryption]]:
    """A mirror of ``kv`` that is encrypted as the file says, with the storage of configmaps."""
    in_force: list[str] = []
    encryption = Encryption(str(file), reload=True, server_id="", clock=SystemClock(), in_force=in_force.append)
    await encryption.start()
    assert in_force == [encryption.digest]
    try:
        async with opened(kv=kv, transformer=encryption) as (mirror, storage):
            yield mirror, storage, encryption
    finally:
        await encryption.close()


async def stored(mirror: Mirror, storage: Storage, key: Key) -> bytes:
    """A value as the store has it."""
    (kv,) = (await mirror.kv.range(storage.store_key(key), b"")).items
    return kv.value


class Told:
    """An observer of configmaps: ``again`` is set when it is told that everything may have changed."""

    def __init__(self, mirror: Mirror) -> None:
        self.again = asyncio.Event()
        mirror.observe(CONFIGMAPS, self)
        self.again.clear()

    def changed(self, change: Change) -> None: ...

    def step(self) -> None: ...

    def replaced(self) -> None:
        self.again.set()
