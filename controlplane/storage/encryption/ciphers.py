"""How one key encrypts: the stored bytes after the prefix, as Kubernetes lays them out.

``context`` is what the ciphertext is bound to where the mode authenticates: the value's key in the store, so that a
value moved to another key cannot be read there.

Source: kubernetes/apiserver ``pkg/storage/value/encrypt`` (layouts, texts): aes (AES-GCM with a random nonce, AES-CBC,
AES-GCM with a key derived by HKDF for each value) and secretbox.
"""

from __future__ import annotations

import hmac
import os
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher as Mode
from cryptography.hazmat.primitives.ciphers import algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["SEED_BYTES", "Cbc", "Cipher", "DerivedGcm", "Gcm", "NotDecryptable", "Secretbox"]

SEED_BYTES = 32
_NONCE_BYTES, _BLOCK_BYTES, _INFO_BYTES, _BOX_NONCE_BYTES, _BOX_OVERHEAD = 12, 16, 32, 24, 16
_SHORT = "the stored data was shorter than the required size"


class NotDecryptable(Exception):
    """Bytes that are not under this key, or not what was stored; the message says what is seen of it."""


class Cipher(Protocol):
    """One key in one mode."""

    def encrypt(self, plain: bytes, context: bytes) -> bytes: ...

    def decrypt(self, stored: bytes, context: bytes) -> bytes:
        """Raises NotDecryptable."""


class Gcm:
    """AES-GCM: a random nonce, then ciphertext and tag. One key is good for 2**32 writes."""

    __slots__ = ("_aead",)

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, plain, context)

    def decrypt(self, stored: bytes, context: bytes) -> bytes:
        if len(stored) < _NONCE_BYTES:
            raise NotDecryptable(_SHORT)
        try:
            return self._aead.decrypt(stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], context)
        except InvalidTag:
            raise NotDecryptable("cipher: message authentication failed") from None


class DerivedGcm:
    """AES-GCM whose key is derived anew for each value, from a seed and 32 random bytes that come before the nonce:
    one seed is good for any number of writes."""

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        if len(seed) < SEED_BYTES:
            raise ValueError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        info = os.urandom(_INFO_BYTES)
        return info + self._derived(info).encrypt(plain, context)

    def decrypt(self, stored: bytes, context: bytes) -> bytes:
        if len(stored) < _INFO_BYTES:
            raise NotDecryptable(_SHORT)
        return self._derived(stored[:_INFO_BYTES]).decrypt(stored[_INFO_BYTES:], context)

    def _derived(self, info: bytes) -> Gcm:
        """HKDF-SHA256's expansion to 32 bytes, which is its first block (RFC 5869)."""
        return Gcm(hmac.digest(self._seed, info + b"\x01", "sha256"))


class Cbc:
    """AES-CBC with PKCS #7 padding after a random vector. Nothing authenticates it: another key is seen by the padding
    alone, or not at all."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = algorithms.AES(key)

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        missing = _BLOCK_BYTES - len(plain) % _BLOCK_BYTES
        vector = os.urandom(_BLOCK_BYTES)
        encryptor = Mode(self._key, modes.CBC(vector)).encryptor()
        return vector + encryptor.update(plain + bytes((missing,)) * missing) + encryptor.finalize()

    def decrypt(self, stored: bytes, context: bytes) -> bytes:
        if len(stored) < _BLOCK_BYTES:
            raise NotDecryptable(_SHORT)
        if len(stored) % _BLOCK_BYTES:
            raise NotDecryptable("the stored data is not a multiple of the block size")
        decryptor = Mode(self._key, modes.CBC(stored[:_BLOCK_BYTES])).decryptor()
        plain = decryptor.update(stored[_BLOCK_BYTES:]) + decryptor.finalize()
        padding = plain[-1] if plain else 0
        if not 0 < padding <= len(plain):
            raise NotDecryptable("invalid PKCS7 data (empty or not padded)")
        if not plain.endswith(bytes((padding,)) * padding):
            raise NotDecryptable("invalid padding on input")
        return plain[:-padding]


class Secretbox:
    """XSalsa20 and Poly1305 (NaCl's secretbox) after a random nonce. Not bound to where it is stored."""

    __slots__ = ("_box",)

    def __init__(self, key: bytes) -> None:
        from nacl.secret import SecretBox  # late: few stores are encrypted by it

        self._box = SecretBox(key)

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        return bytes(self._box.encrypt(plain, os.urandom(_BOX_NONCE_BYTES)))

    def decrypt(self, stored: bytes, context: bytes) -> bytes:
        from nacl.exceptions import CryptoError

        if len(stored) < _BOX_NONCE_BYTES + _BOX_OVERHEAD:
            raise NotDecryptable(_SHORT)
        try:
            return self._box.decrypt(stored)
        except CryptoError:
            raise NotDecryptable("output array was not large enough for encryption") from None
