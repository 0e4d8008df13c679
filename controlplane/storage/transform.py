"""The seam for encryption at rest: what is between a stored value and an object's plain JSON.

One transformer serves a whole store; the key it is given says which resource a value belongs to (and is what
authenticated encryption binds the ciphertext to). Calls are synchronous and run on the loop, in the step that applies
an event: a transformer that needs a remote key fetches and caches it beforehand, and raises Unreadable until it has it.

``IDENTITY`` stores plain JSON. Values that some other provider has encrypted are refused by it, not served as garbage.

Source: role of kubernetes/apiserver ``pkg/storage/value``; the ``k8s:enc:`` prefix of encrypted values.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from controlplane.storage.errors import Unreadable

__all__ = ["IDENTITY", "Plain", "Transformer"]

_ENCRYPTED = b"k8s:enc:"


class Plain(NamedTuple):
    """A stored value made plain. ``key_id`` names the key it was under, ``""`` for none; ``stale``: it would be written
    differently now (another key, or encrypted at all), so the next update writes even if it changes nothing."""

    data: bytes
    key_id: str = ""
    stale: bool = False


class Transformer(Protocol):
    """Turns plain bytes into stored ones and back. ``key`` is the whole store key."""

    def to_storage(self, key: bytes, plain: bytes) -> bytes: ...

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        """Make a stored value plain.

        Raises:
            Unreadable: it cannot be decrypted.
        """


class _Identity:
    """Stores plain bytes."""

    def to_storage(self, key: bytes, plain: bytes) -> bytes:  # the protocol's argument
        return plain

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        if stored.startswith(_ENCRYPTED):
            raise Unreadable(key, "identity transformer tried to read encrypted data")
        return Plain(stored)


IDENTITY: Transformer = _Identity()
