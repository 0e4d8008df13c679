"""What tests of encryption at rest share: configuration files, and stored values decrypted without our own code.

The formats are Kubernetes' published ones: a prefix that names provider and key, then for

* ``aescbc``: a vector of 16 bytes, AES-CBC with PKCS #7 padding
* ``aesgcm``: a nonce of 12 bytes, AES-GCM bound to the value's key in the store
* ``secretbox``: a nonce of 24 bytes, NaCl's secretbox
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7
from nacl.bindings import crypto_secretbox_open

__all__ = ["IDENTITY", "decrypted", "keys", "new_secret", "rule", "write_config"]

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
