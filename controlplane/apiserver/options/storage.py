"""Where objects are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.base.options import Duration, OptionGroup, Problem, option
from controlplane.storage.kv.backends import BACKENDS, KVOptions

__all__ = ["StorageOptions", "kv_options", "store_url"]


class StorageOptions(OptionGroup):
    """The store and how long its past can be read."""

    title: ClassVar[str] = "Storage"

    store: str = option(
        "",
        flag="store",
        description="store URL: sqlite:PATH, memory:, or etcd:HOST:PORT[,HOST:PORT]; empty is store.db in --cert-dir",
    )
    etcd_servers: tuple[str, ...] = option(
        (), flag="etcd-servers", description="etcd servers (scheme://ip:port); the store is then etcd"
    )
    etcd_cafile: str = option("", flag="etcd-cafile", description="certificate authority of the etcd servers, PEM")
    etcd_certfile: str = option("", flag="etcd-certfile", description="client certificate for etcd, PEM")
    etcd_keyfile: str = option("", flag="etcd-keyfile", description="private key of --etcd-certfile, PEM")
    etcd_prefix: str = option("/registry", flag="etcd-prefix", description="prefix of all keys in the store")
    etcd_servers_overrides: tuple[str, ...] = option(
        (), flag="etcd-servers-overrides", description="not supported: all objects live in one log"
    )
    etcd_compaction_interval: Duration = option(
        300.0,
        flag="etcd-compaction-interval",
        ge=0,
        description="how long the past stays readable before it is compacted; 0 leaves compaction on etcd to others",
    )

    encryption_provider_config: str = option(
        "",
        flag="encryption-provider-config",
        description="file with an EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are stored "
        "encrypted, and by which keys",
    )
    encryption_provider_config_automatic_reload: bool = option(
        False,
        flag="encryption-provider-config-automatic-reload",
        description="take up changes of --encryption-provider-config while the server runs",
    )

    def problems(self) -> Iterator[Problem]:
        if self.encryption_provider_config_automatic_reload and not self.encryption_provider_config:
            yield Problem(
                "encryption_provider_config_automatic_reload",
                "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
            )
        if self.etcd_servers_overrides:
            yield Problem(
                "etcd_servers_overrides",
                "is not supported: all resources share one revisioned log, so they live in one store; leave it out",
            )
        if self.store:
            yield from self._store_problems()
        if bool(self.etcd_certfile) != bool(self.etcd_keyfile):
            missing = "etcd_keyfile" if self.etcd_certfile else "etcd_certfile"
            yield Problem(missing, "--etcd-certfile and --etcd-keyfile must be given together")
        if not self.etcd_prefix.strip("/"):
            yield Problem("etcd_prefix", f"{self.etcd_prefix!r} is empty; the default is /registry")

    def _store_problems(self) -> Iterator[Problem]:
        scheme, colon, location = self.store.partition(":")
        if not colon or scheme not in BACKENDS:
            known = ", ".join(sorted(BACKENDS))
            yield Problem("store", f"unknown store scheme {scheme!r} in {self.store!r}; known: {known}")
        elif scheme != "memory" and not location:
            yield Problem("store", f"{self.store!r} does not say where the store is")
        elif scheme == "memory" and location:
            yield Problem("store", f"{self.store!r} names a place, but memory has none; it is memory: alone")
        if self.etcd_servers and scheme != "etcd":
            yield Problem("store", f"{self.store!r} contradicts --etcd-servers; give one of the two")


def store_url(options: StorageOptions, *, default: str) -> str:
    """The URL for ``open_kv``; ``default`` where no store is named."""
    if options.etcd_servers:
        return "etcd:" + ",".join(server.removeprefix("http://") for server in options.etcd_servers)
    return options.store or default


def kv_options(options: StorageOptions) -> KVOptions:
    return KVOptions(
        history_seconds=options.etcd_compaction_interval,
        ca_file=options.etcd_cafile,
        cert_file=options.etcd_certfile,
        key_file=options.etcd_keyfile,
    )
