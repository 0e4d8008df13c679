"""What an EncryptionConfiguration says, as values. Secrets are never part of a ``repr``.

Source: kubernetes/apiserver ``pkg/apis/apiserver/v1/types_encryption.go``.
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.base.values import dataclass

__all__ = [
    "AESCBC",
    "AESGCM",
    "IDENTITY",
    "SECRETBOX",
    "Configuration",
    "KMSConfig",
    "Key",
    "Provider",
    "Rule",
    "parse_resource",
]

AESCBC, AESGCM, SECRETBOX, IDENTITY, KMS = "aescbc", "aesgcm", "secretbox", "identity", "kms"
"""Providers, by the name of their field."""


class Key:
    """One key of a provider; ``secret`` is base64 text, as in the file."""

    __slots__ = ("name", "secret")

    def __init__(self, name: str, secret: str) -> None:
        self.name, self.secret = name, secret

    def __repr__(self) -> str:
        return f"Key(name={self.name!r}, secret=REDACTED)"


class KMSConfig(NamedTuple):
    """A key management service. ``cache_size`` is of v1 alone; None: not given."""

    api_version: str
    name: str
    endpoint: str
    timeout_seconds: float
    cache_size: int | None


@dataclass(frozen=True, slots=True)
class Provider:
    """One element of a list of providers. ``kinds``: the fields given, of which there must be one."""

    kinds: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    kms: KMSConfig | None = None

    @property
    def kind(self) -> str:
        return self.kinds[0]


class Rule(NamedTuple):
    """Resources (``secrets``, ``pandas.example.com``, ``*.``, ``*.apps``, ``*.*``), and their providers in order: the
    first one writes, all read."""

    resources: tuple[str, ...]
    providers: tuple[Provider, ...]


class Configuration(NamedTuple):
    """A whole file. ``digest`` is of its bytes, ``sha256:…``, as upstream's metrics show it."""

    rules: tuple[Rule, ...]
    digest: str


def parse_resource(text: str) -> tuple[str, str]:
    """Group and resource of ``resource.group``."""
    resource, _, group = text.partition(".")
    return group, resource
