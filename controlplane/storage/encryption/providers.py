"""One provider of one resource, ready to encrypt: its prefix, and its keys by theirs.

Source: kubernetes/apiserver ``pkg/server/options/encryptionconfig/config.go`` (prefixes, texts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from controlplane.storage.encryption.ciphers import Cbc, Cipher, Gcm, NotDecryptable, Secretbox
from controlplane.storage.encryption.configuration import AESCBC, AESGCM, SECRETBOX, Key, Provider
from controlplane.storage.encryption.validation import decoded
from controlplane.storage.transform import IDENTITY, Plain

__all__ = ["PLAIN", "PREFIXES", "Identity", "KeyNames", "Keyed", "Secret", "StorageProvider", "aggregated", "keyed"]

PREFIXES: Final[Mapping[str, bytes]] = {
    AESCBC: b"k8s:enc:aescbc:v1:",
    AESGCM: b"k8s:enc:aesgcm:v1:",
    SECRETBOX: b"k8s:enc:secretbox:v1:",
}
_CIPHERS: Final[Mapping[str, Callable[[bytes], Cipher]]] = {AESCBC: Cbc, AESGCM: Gcm, SECRETBOX: Secretbox}
_TITLES: Final = {AESCBC: "AES", AESGCM: "AES", SECRETBOX: "Secretbox"}


Secret = bytes | str
"""What a value can be opened with: the digest of a key's secret; the beginning of a KMS's key ids; ``""``: nothing, it
is plain. Names may change their meaning, this does not."""
PLAIN: Final[frozenset[Secret]] = frozenset(("",))


class StorageProvider(Protocol):
    """``prefix``: of the values that are this provider's; ``label``: the same in metrics."""

    @property
    def prefix(self) -> bytes: ...

    @property
    def label(self) -> str: ...

    @property
    def write_key_id(self) -> str:
        """The key that ``seal`` encrypts under."""

    @property
    def reads(self) -> frozenset[Secret]:
        """What it can open."""

    def seal(self, key: bytes, plain: bytes) -> bytes:
        """The value to store, prefix included.

        Raises:
            EncryptionFailed.
        """

    def open(self, key: bytes, stored: bytes) -> Plain:
        """Make a value that begins with ``prefix`` plain.

        Raises:
            NotDecryptable.
        """


class Identity:
    """Stores plain bytes; ``prefix`` is that of every value, so it is asked about encrypted ones too."""

    prefix, label, write_key_id = b"", "identity", ""
    reads: frozenset[Secret] = PLAIN

    def seal(self, key: bytes, plain: bytes) -> bytes:  # the protocol's argument
        return plain

    def open(self, key: bytes, stored: bytes) -> Plain:
        return IDENTITY.from_storage(key, stored)


class _Named(NamedTuple):
    prefix: bytes
    cipher: Cipher
    key_id: str
    digest: bytes


class Keyed:
    """A provider whose keys stand in the file: the first one writes, all read."""

    __slots__ = ("_keys", "_unmatched", "label", "prefix")

    def __init__(self, prefix: bytes, keys: Sequence[_Named], title: str) -> None:
        self.prefix, self.label, self._keys = prefix, prefix.decode(), tuple(keys)
        self._unmatched = f"no matching key was found for the provided {title} transformer"

    @property
    def write_key_id(self) -> str:
        return self._keys[0].key_id

    @property
    def reads(self) -> frozenset[Secret]:
        return frozenset(key.digest for key in self._keys)

    def seal(self, key: bytes, plain: bytes) -> bytes:
        prefix, cipher, *_ = self._keys[0]
        return prefix + cipher.encrypt(plain, key)

    def open(self, key: bytes, stored: bytes) -> Plain:
        errors: list[str] = []
        for prefix, cipher, key_id, _ in self._keys:
            if stored.startswith(prefix):
                try:
                    return Plain(cipher.decrypt(stored[len(prefix) :], key), key_id)
                except NotDecryptable as error:
                    errors.append(str(error))
        raise NotDecryptable(aggregated(errors) or self._unmatched)


class KeyNames:
    """Names the keys of one resource: ``aescbc:key1``. Two secrets of one name are told apart (``aescbc:key1#2``).

    ``digests``: of the secrets, by those names.
    """

    def __init__(self) -> None:
        self.digests: dict[str, bytes] = {}

    def name(self, kind: str, key: str, digest: bytes) -> str:
        name, count = f"{kind}:{key}", 1
        while self.digests.setdefault(name, digest) != digest:
            count += 1
            name = f"{kind}:{key}#{count}"
        return name


def keyed(provider: Provider, names: KeyNames) -> Keyed:
    """The provider of a validated configuration."""
    kind, prefix = provider.kind, PREFIXES[provider.kind]

    def named(key: Key) -> _Named:
        secret = decoded(key.secret)
        digest = sha256(secret).digest()
        key_id = names.name(kind, key.name, digest)
        return _Named(prefix + key.name.encode() + b":", _CIPHERS[kind](secret), key_id, digest)

    return Keyed(prefix, [named(key) for key in provider.keys], _TITLES[kind])


def aggregated(errors: Sequence[str]) -> str:
    """Several errors as Kubernetes prints them."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
