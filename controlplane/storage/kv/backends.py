"""The backends, by URL scheme, and how one is opened.

A backend is one module (or package) with ``async def open_kv(location, options) -> KV``, named in one line here and
imported only when it is used.
"""

from __future__ import annotations

from dataclasses import field
from importlib import import_module

from controlplane.base.clock import Clock, SystemClock
from controlplane.base.values import dataclass
from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.api import KV

__all__ = ["BACKENDS", "KVOptions", "open_kv", "split_url"]

BACKENDS: dict[str, str] = {
    "sqlite": "controlplane.storage.kv.sqlite",
    "memory": "controlplane.storage.kv.memory",
    "etcd": "controlplane.storage.kv.etcd",
}
"""Scheme -> module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KVOptions:
    """What backends may be told. ``history_seconds``: how long forgotten states stay readable before they are compacted
    (on etcd: the compaction interval; 0 leaves compaction to somebody else). ``request_seconds``: how long one
    operation may take before it is Unavailable. The files are etcd's client TLS; ``""`` is none."""

    history_seconds: float = 300.0
    request_seconds: float = 10.0
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    clock: Clock = field(default_factory=SystemClock)


def split_url(url: str) -> tuple[str, str]:
    """``scheme:location``.

    Raises:
        ValueError: unknown scheme; the message names the known ones.
    """
    scheme, colon, location = url.partition(":")
    if not colon or scheme not in BACKENDS:
        known = ", ".join(sorted(BACKENDS))
        raise ValueError(f"unknown store scheme {scheme!r} in {url!r}; known: {known}")
    return scheme, location


async def open_kv(url: str, options: KVOptions | None = None) -> KV:
    """Open ``sqlite:PATH``, ``memory:`` or ``etcd:HOST:PORT[,HOST:PORT…]`` (``https://`` before a host: TLS).

    Raises:
        StoreUnusable: it cannot be opened; the message names what and the remedy.
    """
    scheme, location = split_url(url)
    kv = await import_module(BACKENDS[scheme]).open_kv(location, options or KVOptions())
    if not hasattr(kv, "range"):
        raise StoreUnusable(f"{BACKENDS[scheme]} is not a KV backend")
    return kv  # type: ignore[no-any-return]  # the module is loaded by name
