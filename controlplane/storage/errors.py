"""What can go wrong below the API: the few errors that storage raises.

Foreign errors (sqlite3, grpc) are mapped where the library is called and never leave ``storage/``. One function,
``apiserver.registry.translate``, turns these into Status answers.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "Compacted",
    "ConversionFailed",
    "EncryptionFailed",
    "FutureRevision",
    "KeyExists",
    "KeyNotFound",
    "RevisionConflict",
    "Stale",
    "StorageError",
    "StoreLocked",
    "StoreUnusable",
    "Unavailable",
    "Unreadable",
    "UnreadableList",
    "ValueTooLarge",
]


class StorageError(Exception):
    """Root of everything that storage raises on purpose."""


class KeyNotFound(StorageError):
    """No object under this key."""

    def __init__(self, key: bytes, *, revision: int = 0) -> None:
        super().__init__(f"{key.decode(errors='replace')}: not found")
        self.key, self.revision = key, revision


class KeyExists(StorageError):
    """Create found the key taken."""

    def __init__(self, key: bytes, *, revision: int = 0) -> None:
        super().__init__(f"{key.decode(errors='replace')}: exists already")
        self.key, self.revision = key, revision


class RevisionConflict(StorageError):
    """The stored revision is not the one the caller read. Re-read and retry."""

    def __init__(self, key: bytes, *, expected: int, actual: int) -> None:
        super().__init__(f"{key.decode(errors='replace')}: expected revision {expected}, stored is {actual}")
        self.key, self.expected, self.actual = key, expected, actual


class Compacted(StorageError):
    """The revision asked for has been forgotten; ``compacted`` is the newest forgotten revision (0 if unknown)."""

    def __init__(self, requested: int, compacted: int) -> None:
        super().__init__(f"revision {requested} has been compacted (compacted through {compacted})")
        self.requested, self.compacted = requested, compacted


class FutureRevision(StorageError):
    """The revision asked for is not written yet; ``current`` is the newest."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"revision {requested} is in the future (current is {current})")
        self.requested, self.current = requested, current


class Unavailable(StorageError):
    """The backend did not answer or lost its connection. Reads may be repeated.

    A write that raises this has an unknown outcome unless ``outcome_known`` is true (then it did not happen).
    """

    def __init__(self, message: str, *, outcome_known: bool = False) -> None:
        super().__init__(message)
        self.outcome_known = outcome_known


class StoreFull(Unavailable):
    """There is no room for a write, until an operator makes some. Reads go on."""


class Stale(Unavailable):
    """The mirror has lost its stream, so it cannot prove a read consistent."""


class ValueTooLarge(StorageError):
    """A value over ``limit_bytes``; nothing was written."""

    def __init__(self, key: bytes, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"{key.decode(errors='replace')}: value of {size_bytes} bytes is over the limit of {limit_bytes}"
        )
        self.key, self.size_bytes, self.limit_bytes = key, size_bytes, limit_bytes


class Unreadable(StorageError):
    """A stored value that cannot be decoded or decrypted; only its own object is affected."""

    def __init__(self, key: bytes, why: str) -> None:
        super().__init__(f"{key.decode(errors='replace')}: {why}")
        self.key, self.why = key, why


class ConversionFailed(StorageError):
    """Somebody else has to bring an object into another version, and did not; nothing is wrong with what is stored."""


class EncryptionFailed(StorageError):
    """A value cannot be encrypted now, since who has the key does not give one; nothing was written."""


class UnreadableList(Unreadable):
    """Objects in a list that cannot be read; ``parts`` names them (at most 100)."""

    def __init__(self, parts: Sequence[Unreadable]) -> None:
        more = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
        super().__init__(parts[0].key, f"{parts[0].why}{more}")
        self.parts = tuple(parts)


class StoreUnusable(StorageError):
    """The store cannot be opened: not writable, corrupt, of another kind. The message names the file and the remedy."""


class StoreLocked(StoreUnusable):
    """Another process holds the embedded store."""
