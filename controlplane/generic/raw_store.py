"""A store that nobody serves, opened to be read as it is: with the keys that its values are encrypted with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.apimachinery.resource import Resource
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.options import StorageOptions, kv_options
from controlplane.base.clock import SystemClock
from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv, split_url
from controlplane.storage.transform import IDENTITY, Transformer

__all__ = ["STORED_KINDS", "RawStore", "raw_store"]

STORED_KINDS: tuple[Resource, ...] = (*(kind for kind in BUILTIN if kind.stored), DEFINITIONS)
"""The kinds that this build keeps, whatever else a server would serve."""


class RawStore(NamedTuple):
    """``prefix``: of all keys. ``transformer``: makes values plain. ``name_of``: group and resource of a key, both
    ``""`` where this build does not know them."""

    kv: KV
    prefix: bytes
    transformer: Transformer
    name_of: Callable[[bytes], tuple[str, str]]


@asynccontextmanager
async def raw_store(options: StorageOptions, url: str) -> AsyncIterator[RawStore]:
    """Open a store to read it.

    Raises:
        StorageError: it cannot be opened (it is not there, a server holds it), or the keys cannot be had.
    """
    prefix = f"/{options.etcd_prefix.strip('/')}/".encode()
    async with AsyncExitStack() as stack:
        names = _Unserved(prefix)
        _refuse_missing(url)
        kv = await open_kv(url, kv_options(options))
        stack.push_async_callback(kv.close)
        transformer: Transformer = IDENTITY
        if options.encryption_provider_config:
            from controlplane.storage.encryption.encryption import Encryption  # late: few stores have one

            encryption = transformer = Encryption(
                options.encryption_provider_config,
                reload=False,
                server_id="",
                clock=SystemClock(),
                in_force=lambda _digest: None,
            )
            try:
                await encryption.start()
            except ConfigurationError as error:
                raise StoreUnusable(f"--encryption-provider-config: {error}") from error
            stack.push_async_callback(encryption.close)
            encryption.attach(names)
        yield RawStore(kv, prefix, transformer, names.resource_of)


def _refuse_missing(url: str) -> None:
    """Opening a file that is not there would make it."""
    scheme, location = split_url(url)
    if scheme == "sqlite" and not Path(location).exists():
        raise StoreUnusable(f"store {location} does not exist")


class _Unserved:
    """See ``transform.TransformedStore``: whose keys are whose, where no table says it."""

    def __init__(self, prefix: bytes) -> None:
        self._root = len(prefix)
        self._native = {kind.key_prefix: kind.storage_gvk.group for kind in STORED_KINDS}

    def resource_of(self, key: bytes) -> tuple[str, str]:
        first, second, *_ = (*key[self._root :].decode(errors="replace").split("/"), "")
        if "." in first:
            return first, second
        return (self._native[first], first) if first in self._native else ("", "")

    def resources(self) -> tuple[tuple[str, str], ...]:
        """Nothing is kept."""
        return ()

    def reread(self) -> None:
        """Nothing is kept."""

    async def count_keys(self, group: str, plural: str) -> Mapping[str, int]:
        """Nothing is kept."""
        return {}

    def rename_key(self, group: str, plural: str, key_ids: Mapping[str, str]) -> None:
        """Nothing is kept."""
