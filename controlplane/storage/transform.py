"""The seam for encryption at rest: what is between a stored value and an object's plain JSON.

One transformer serves a whole store; the key it is given says which resource a value belongs to (and is what
authenticated encryption binds the ciphertext to). ``to_storage`` and ``from_storage`` are synchronous and run on the
loop, in the step that applies an event: a transformer that needs a remote key is asked to ``fetch`` it beforehand, and
raises Unreadable until it has it.

``IDENTITY`` stores plain JSON. Values that some other provider has encrypted are refused by it, not served as garbage.

Source: role of kubernetes/apiserver ``pkg/storage/value``; the ``k8s:enc:`` prefix of encrypted values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from controlplane.storage.errors import Unreadable

__all__ = ["ENCRYPTED", "IDENTITY", "Plain", "TransformedStore", "Transformer"]

ENCRYPTED = b"k8s:enc:"
"""How every encrypted value begins."""


class Plain(NamedTuple):
    """A stored value made plain. ``key_id`` names the key it was under, ``""`` for none; ``stale``: it would be written
    differently now though under the same key. (That the key is another one is seen by ``write_key_id``.)"""

    data: bytes
    key_id: str = ""
    stale: bool = False


class TransformedStore(Protocol):
    """Who holds values in memory, as a transformer sees it."""

    def resource_of(self, key: bytes) -> tuple[str, str]:
        """Group and resource of a key, ``""`` for a key of none."""

    def resources(self) -> Sequence[tuple[str, str]]:
        """The resources that there are keys of, or may be."""

    def reread(self) -> None:
        """What could not be read may be readable now. Returns at once."""

    async def count_keys(self, group: str, plural: str) -> Mapping[str, int]:
        """How many objects of a resource are under each key now, those aside that cannot be read."""

    def rename_key(self, group: str, plural: str, key_ids: Mapping[str, str]) -> None:
        """These ids mean other keys from now on: what was read under them is under the new names. Returns at once."""


class Transformer(Protocol):
    """Turns plain bytes into stored ones and back. ``key`` is the whole store key."""

    def attach(self, store: TransformedStore) -> None:
        """Work for this store. Called once, before anything else."""

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        """The value to store.

        Raises:
            EncryptionFailed: there is no key to encrypt with now.
        """

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        """Make a stored value plain.

        Raises:
            Unreadable: it cannot be decrypted.
        """

    def write_key_id(self, key: bytes) -> str:
        """The key that ``to_storage`` encrypts under now; what was read under another one is stale."""

    @property
    def remote(self) -> bool:
        """Whether ``fetch`` may have to wait."""

    def fetch(self, stored: Iterable[bytes]) -> Awaitable[None] | None:
        """Get the keys that these values need, if they are with somebody else; None: nothing is missing. Waits a short
        time at most and raises nothing: what could not be had is Unreadable, and is read again when it has come."""


class _Identity(Transformer):
    """Stores plain bytes."""

    remote = False

    def attach(self, store: TransformedStore) -> None: ...

    def to_storage(self, key: bytes, plain: bytes) -> bytes:  # the protocol's argument
        return plain

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        if stored.startswith(ENCRYPTED):
            raise Unreadable(key, "identity transformer tried to read encrypted data")
        return Plain(stored)

    def write_key_id(self, key: bytes) -> str:  # the protocol's argument
        return ""

    def fetch(self, stored: Iterable[bytes]) -> None: ...


IDENTITY: Transformer = _Identity()
