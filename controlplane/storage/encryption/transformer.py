"""Encryption of a whole store: which resource a value is of, and which providers read and write it.

Source: kubernetes/apiserver ``pkg/storage/value/transformer.go`` (order, staleness, texts) and
``pkg/server/options/encryptionconfig/config.go`` (wildcards, masks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.storage.encryption.ciphers import NotDecryptable
from controlplane.storage.encryption.configuration import Configuration, Provider, parse_resource
from controlplane.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, record_transformation
from controlplane.storage.encryption.providers import (
    PLAIN,
    Identity,
    KeyNames,
    Secret,
    StorageProvider,
    aggregated,
    keyed,
)
from controlplane.storage.errors import EncryptionFailed, Unreadable
from controlplane.storage.transform import Plain

__all__ = ["ResourceTransformer", "Rules", "check_masks"]

_GR = tuple[str, str]
_ALL: _GR = ("*", "*")
_NOT_SERVED = frozenset({("", "peerserverleases")})
"""Servers' own bookkeeping, which no API serves: plain whatever wildcards say, so that every server reads it."""


class ResourceTransformer:
    """The providers of one resource, ``name`` (``secrets``, ``leases.coordination.k8s.io``). ``digests``: of its keys'
    secrets, by the keys' ids."""

    __slots__ = ("_providers", "digests", "name")

    def __init__(self, name: str, providers: Sequence[StorageProvider], digests: Mapping[str, bytes]) -> None:
        self.name, self._providers, self.digests = name, tuple(providers), digests

    @property
    def write_key_id(self) -> str:
        return self._providers[0].write_key_id

    @property
    def reads(self) -> frozenset[Secret]:
        """What its providers can open."""
        return frozenset().union(*(provider.reads for provider in self._providers))

    def opened_with(self, key_id: str) -> Secret:
        """What opens values under one of its keys."""
        digest = self.digests.get(key_id)
        if digest is not None:
            return digest
        return next((s for s in self.reads if s and isinstance(s, str) and key_id.startswith(s)), key_id)

    def renamed(self, other: ResourceTransformer | None) -> dict[str, str]:
        """Keys that have other ids in another one, since a secret or the order of equal names has changed."""
        after = other.digests if other is not None else {}
        names = {digest: name for name, digest in after.items()}
        return {
            name: names[digest]
            for name, digest in self.digests.items()
            if digest in names and after.get(name) != digest
        }

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        """Raises EncryptionFailed."""
        provider, begun = self._providers[0], perf_counter()
        label = "" if isinstance(provider, Identity) else provider.label
        try:
            stored = provider.seal(key, plain)
        except EncryptionFailed:
            record_transformation(self.name, TO_STORAGE, label, 0, failed=True)
            raise
        record_transformation(self.name, TO_STORAGE, label, perf_counter() - begun)
        return stored

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        """Raises Unreadable."""
        begun = perf_counter()
        errors: list[str] = []
        for provider in self._providers:
            if not stored.startswith(provider.prefix):
                continue
            try:
                plain = provider.open(key, stored)
            except Unreadable:  # the value is encrypted, and this provider is identity: the next ones may know it
                continue
            except NotDecryptable as error:
                record_transformation(self.name, FROM_STORAGE, provider.label, 0, failed=True)
                errors.append(str(error))
                continue
            record_transformation(self.name, FROM_STORAGE, provider.label, perf_counter() - begun)
            return plain
        if not errors:
            record_transformation(self.name, FROM_STORAGE, "unknown", 0, failed=True)
        raise Unreadable(key, aggregated(errors) or "no matching prefix found")


class Rules:
    """A configuration, put to work. ``remotes``: its KMS providers, by name."""

    def __init__(self, configuration: Configuration, remotes: Mapping[str, StorageProvider]) -> None:
        self.digest, self._remotes = configuration.digest, remotes
        self._patterns: dict[_GR, tuple[Provider, ...]] = {}
        for rule in configuration.rules:
            for resource in rule.resources:
                gr = parse_resource(resource)
                self._patterns[gr] = (*self._patterns.get(gr, ()), *rule.providers)
        self._made: dict[_GR, ResourceTransformer | None] = {}

    def of(self, group: str, plural: str) -> ResourceTransformer | None:
        """The transformer of a resource; None: it is stored plain, and no provider is named for it."""
        gr = group, plural
        try:
            return self._made[gr]
        except KeyError:
            made = self._made[gr] = self._make(group, plural)
            return made

    def lost_by(self, other: Rules, group: str, plural: str) -> Callable[[str], bool] | None:
        """Which keys of a resource other rules cannot open, by their ids; None: they open all that these do."""
        before, after = self.of(group, plural), other.of(group, plural)
        reads, then = (PLAIN if rules is None else rules.reads for rules in (before, after))
        if reads <= then:
            return None
        return lambda key_id: (key_id if before is None else before.opened_with(key_id)) not in then

    def renamed_by(self, other: Rules, group: str, plural: str) -> dict[str, str]:
        """Keys of a resource that have other ids under other rules."""
        before = self.of(group, plural)
        return before.renamed(other.of(group, plural)) if before is not None else {}

    def _make(self, group: str, plural: str) -> ResourceTransformer | None:
        if (group, plural) in _NOT_SERVED:
            return None
        patterns = ((group, plural), (group, "*"), _ALL)
        configured = next((self._patterns[pattern] for pattern in patterns if pattern in self._patterns), None)
        if configured is None:
            return None
        names = KeyNames()
        providers = [self._provider(provider, names) for provider in configured]
        return ResourceTransformer(f"{plural}.{group}" if group else plural, providers, names.digests)

    def _provider(self, provider: Provider, names: KeyNames) -> StorageProvider:
        if provider.kms is not None:
            return self._remotes[provider.kms.name]
        return keyed(provider, names) if provider.keys else Identity()


def check_masks(configuration: Configuration) -> None:
    """Refuse resources that an earlier wildcard makes ineffective.

    Raises:
        ConfigurationError.
    """
    seen: set[_GR] = set()
    for rule in configuration.rules:
        for resource in rule.resources:
            gr = parse_resource(resource)
            for wildcard in ((gr[0], "*"), _ALL):
                if wildcard in seen:
                    raise ConfigurationError(
                        f'resource "{_written(gr)}" is masked by earlier rule "{_written(wildcard)}"'
                    )
            seen.add(gr)


def _written(gr: _GR) -> str:
    group, plural = gr
    return f"{plural}.{group}" if group or plural == "*" else plural
