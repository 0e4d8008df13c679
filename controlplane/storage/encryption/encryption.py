"""Encryption at rest as a store's transformer: a file says how, and may say otherwise while the server runs.

A changed file is read, validated, its KMS plugins are asked, and it is put in force whole; one that cannot be used
changes nothing. What is in memory stays readable whatever the file says; what it makes stale is seen by the key that it
was under.

Source: kubernetes/apiserver ``pkg/server/options/encryptionconfig`` and its ``controller`` (order, texts).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.storage.encryption.configuration import Configuration, KMSConfig
from controlplane.storage.encryption.metrics import ReloadMetrics
from controlplane.storage.encryption.reading import read_file
from controlplane.storage.encryption.transformer import ResourceTransformer, Rules, check_masks
from controlplane.storage.transform import IDENTITY, Plain, TransformedStore, Transformer

if TYPE_CHECKING:
    from controlplane.storage.encryption.kms.provider import KMSProvider

__all__ = ["Encryption", "NotYet"]

log = logs.get(__name__)

LOOK_SECONDS = 2.0
"""How often the file is looked at (one ``stat``): a changed configuration is in force that soon."""
AGAIN_SECONDS = 10.0
"""How soon a configuration is tried again that could not be put in force yet."""

Remotes = dict[KMSConfig, "KMSProvider"]


class Encryption(Transformer):
    """See ``Transformer``. ``digest``: of the file that is in force.

    Args:
        reload: ``follow`` will be run. ``server_id``: this server's, for metrics. ``in_force``: hears the digest of
            each configuration that comes into force.
    """

    def __init__(
        self, path: str, *, reload: bool, server_id: str, clock: Clock, in_force: Callable[[str], None]
    ) -> None:
        self._path, self._reload, self._server_id, self._clock = path, reload, server_id, clock
        self._metrics, self._in_force = ReloadMetrics(server_id), in_force
        self._remotes: Remotes = {}
        self._rules = Rules(Configuration((), ""), {})
        self._store: TransformedStore | None = None

    @property
    def digest(self) -> str:
        return self._rules.digest

    async def start(self) -> None:
        """Read the file, ask the KMS plugins that it names, and put it in force.

        Raises:
            ConfigurationError.
        """
        try:
            configuration = await asyncio.to_thread(read_file, self._path, reload=self._reload)
        except ConfigurationError as error:
            raise ConfigurationError(f"error while parsing file: {error}") from error
        try:
            check(configuration)
        except ConfigurationError as error:
            raise ConfigurationError(f"error while building transformers: {error}") from error
        self._remotes = await self._opened(configuration)
        self._rules = _rules(configuration, self._remotes)
        self._metrics.in_force(self.digest)
        self._in_force(self.digest)

    async def close(self) -> None:
        """Leave the KMS plugins. Idempotent."""
        await _close(self._remotes.values())

    def health(self) -> Callable[[], str | None] | None:
        """The check of all KMS providers together; None: there are none, and there will be none."""
        if not (self._reload or self._remotes):
            return None

        def probe() -> str | None:
            whys = [f"kms-provider-{n}: {r.trouble}" for n, r in enumerate(self._remotes.values()) if r.trouble]
            return whys[0] if len(whys) == 1 else f"[{', '.join(whys)}]" if whys else None

        return probe

    # of Transformer

    def attach(self, store: TransformedStore) -> None:
        self._store = store

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        transformer = self._of(key)
        return plain if transformer is None else transformer.to_storage(key, plain)

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        transformer = self._of(key)
        return IDENTITY.from_storage(key, stored) if transformer is None else transformer.from_storage(key, stored)

    def write_key_id(self, key: bytes) -> str:
        transformer = self._of(key)
        return "" if transformer is None else transformer.write_key_id

    @property
    def remote(self) -> bool:
        return bool(self._remotes)

    def fetch(self, stored: Iterable[bytes]) -> Awaitable[None] | None:
        values = list(stored)
        waits = [wait for remote in self._remotes.values() if (wait := remote.fetch(values)) is not None]
        return _all(waits) if waits else None

    # reload

    async def follow(self) -> None:
        """Take up what changes in the file; runs until cancelled: an owned task."""
        seen: tuple[int, ...] | None = ()  # of nothing: it may have changed since it was read
        again = False
        while True:
            stamp = await asyncio.to_thread(_stamp, self._path)
            if stamp != seen or again:
                seen, again = stamp, False
                try:
                    if await self.reload():
                        log.info("encryption configuration reloaded", file=self._path, hash=self.digest)
                except (ConfigurationError, NotYet) as error:
                    again = isinstance(error, NotYet)
                    self._metrics.failed(self._clock.now())
                    log.warning("encryption configuration cannot be used; the old one stays in force", error=error)
            await self._clock.sleep(AGAIN_SECONDS if again else LOOK_SECONDS)

    async def reload(self) -> bool:
        """Put the file in force if it has changed; whether it had.

        Raises:
            ConfigurationError, NotYet: it cannot be; the old one stays in force.
        """
        configuration = await asyncio.to_thread(read_file, self._path, reload=True)
        if configuration.digest == self.digest:
            return False
        check(configuration)
        remotes = await self._opened(configuration)
        rules = _rules(configuration, remotes)
        whys = [f"health check for new transformers failed: {r.trouble}" for r in remotes.values() if r.trouble]
        if why := next(iter(whys), None) or await self._lost_by(rules):
            await _close(remote for config, remote in remotes.items() if config not in self._remotes)
            raise NotYet(why)
        gone = [remote for config, remote in self._remotes.items() if config not in remotes]
        before, self._rules, self._remotes = self._rules, rules, remotes
        self._metrics.reloaded(self.digest, self._clock.now())
        if self._store is not None:
            for gr in self._store.resources():
                if renamed := before.renamed_by(rules, *gr):
                    self._store.rename_key(*gr, renamed)
            self._store.reread()
        self._in_force(self.digest)
        await _close(gone)
        return True

    async def _lost_by(self, rules: Rules) -> str | None:
        """What is stored and could not be read any more under other rules, if anything is."""
        store = self._store
        if store is None:
            return None
        for gr in store.resources():
            is_lost = self._rules.lost_by(rules, *gr)
            if is_lost is None:
                continue
            for key_id, objects in (await store.count_keys(*gr)).items():
                if is_lost(key_id):
                    return (
                        f"of {'.'.join(filter(None, reversed(gr)))}, {objects} are stored under {key_id or 'no key'}, "
                        "which it does not read: migrate them first (rotate-keys does)"
                    )
        return None

    async def _opened(self, configuration: Configuration) -> Remotes:
        """The KMS providers of a configuration: those that are open already, and new ones that have been asked."""
        found: Remotes = {}
        try:
            for rule in configuration.rules:
                for config in (provider.kms for provider in rule.providers if provider.kms is not None):
                    found[config] = self._remotes.get(config) or await self._open(config)
        except BaseException:
            await _close(remote for config, remote in found.items() if config not in self._remotes)
            raise
        return found

    async def _open(self, config: KMSConfig) -> KMSProvider:
        from controlplane.storage.encryption.kms.provider import KMSProvider  # late: protobuf and gRPC

        remote = KMSProvider(config, server_id=self._server_id, clock=self._clock, on_key=self._reread)
        try:
            await remote.start()
        except BaseException:
            await remote.close()
            raise
        return remote

    def _reread(self) -> None:
        if self._store is not None:
            self._store.reread()

    def _of(self, key: bytes) -> ResourceTransformer | None:
        assert self._store is not None, "a transformer is attached to a store before it is used"
        return self._rules.of(*self._store.resource_of(key))


class NotYet(Exception):
    """A new configuration cannot be put in force now: its KMS plugin is not healthy, or objects would be lost."""


def check(configuration: Configuration) -> None:
    """What validation leaves open.

    Raises:
        ConfigurationError: a KMS of version 1; rules that earlier ones make ineffective.
    """
    for rule in configuration.rules:
        for provider in rule.providers:
            if provider.kms is not None and provider.kms.api_version == "v1":
                raise ConfigurationError(
                    f'KMS provider "{provider.kms.name}" is of KMSv1, which is deprecated and not supported here. '
                    "Use KMSv2 instead."
                )
    check_masks(configuration)


def _rules(configuration: Configuration, remotes: Remotes) -> Rules:
    return Rules(configuration, {config.name: remote for config, remote in remotes.items()})


def _stamp(path: str) -> tuple[int, ...] | None:
    """What changes when a file does."""
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


async def _close(remotes: Iterable[KMSProvider]) -> None:
    for remote in list(remotes):
        await remote.close()


async def _all(waits: Iterable[Awaitable[None]]) -> None:
    for wait in waits:
        await wait
