"""What a raw store holds under which key: read from the store itself, at one revision, without any server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from controlplane.generic.rotation.document import OldKey
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.maintenance import stored_heads

__all__ = ["Found", "left_under"]

_PAGE = 1_000

Found = Mapping[tuple[OldKey, str], int]
"""How many values are under an old key, by where they are (the first segments of their keys)."""


async def left_under(keys: Sequence[OldKey], store: str, options: KVOptions, prefix: bytes) -> tuple[Found, int]:
    """What is stored under keys that are to go.

    Returns:
        What was found, and how many values were looked at.

    Raises:
        StorageError: the store cannot be read.
    """
    if store.startswith("sqlite:"):
        return await asyncio.to_thread(_in_file, keys, store.removeprefix("sqlite:"), prefix)
    kv = await open_kv(store, options)
    try:
        found: Counter[tuple[OldKey, str]] = Counter()
        start, end, revision, seen = prefix, prefix_end(prefix), 0, 0
        while True:
            page = await kv.range(start, end, revision=revision, limit=_PAGE)
            revision = revision or page.revision
            seen += len(page.items)
            _count(found, keys, ((kv.key, kv.value) for kv in page.items), prefix)
            if not page.more:
                return found, seen
            start = page.items[-1].key + b"\0"
    finally:
        await kv.close()


def _in_file(keys: Sequence[OldKey], path: str, prefix: bytes) -> tuple[Found, int]:
    found: Counter[tuple[OldKey, str]] = Counter()
    size = max((len(key.prefix) for key in keys), default=1)
    heads = [head for head in stored_heads(path, size) if head[0].startswith(prefix)]
    _count(found, keys, heads, prefix)
    return found, len(heads)


def _count(
    found: Counter[tuple[OldKey, str]], keys: Sequence[OldKey], values: Iterable[tuple[bytes, bytes]], prefix: bytes
) -> None:
    for key, value in values:
        for old in keys:
            if value.startswith(old.prefix):
                found[old, _where(key[len(prefix) :])] += 1


def _where(key: bytes) -> str:
    """The resource of a key, as far as the key tells."""
    first, _, rest = key.decode(errors="replace").partition("/")
    return f"{rest.partition('/')[0]}.{first}" if "." in first else first
