"""Read an EncryptionConfiguration from YAML or JSON, strictly: an unknown or repeated field is an error.

Source: kubernetes/apiserver ``pkg/server/options/encryptionconfig`` (texts), ``pkg/apis/apiserver/v1`` (defaults).
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from controlplane.apimachinery.codec.parts import ConfigurationError, Part, read_document
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.base.options import parse_duration
from controlplane.storage.encryption.configuration import (
    AESCBC,
    AESGCM,
    IDENTITY,
    KMS,
    SECRETBOX,
    Configuration,
    Key,
    KMSConfig,
    Provider,
    Rule,
)
from controlplane.storage.encryption.validation import validate

__all__ = ["digest_of", "parse", "read_file"]

KIND = "EncryptionConfiguration"
API_VERSION = "apiserver.config.k8s.io/v1"
_KINDS = (KMS, AESGCM, AESCBC, SECRETBOX, IDENTITY)

DEFAULT_TIMEOUT_SECONDS = 3.0
DEFAULT_KMS_VERSION = "v1"
DEFAULT_CACHE_SIZE = 1000


def read_file(path: str, *, reload: bool) -> Configuration:
    """Read and validate a file. Blocks. ``reload``: it is read again when it changes, which some names must allow.

    Raises:
        ConfigurationError: it cannot be used; the message names it, and no secret.
    """
    named = go_quoted(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"error reading encryption provider configuration file {named}: {error.strerror or error}"
        ) from error
    if not content:
        raise ConfigurationError(f"encryption provider configuration file {named} is empty")
    try:
        configuration = parse(content)
    except ConfigurationError as error:
        raise ConfigurationError(f"error decoding encryption provider configuration file {named}: {error}") from error
    problems = list(dict.fromkeys(map(str, validate(configuration, reload=reload))))
    if problems:
        listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ConfigurationError(f"{named}: {listed}")
    return configuration


def digest_of(content: bytes) -> str:
    """How a file's content is named without showing it."""
    return f"sha256:{sha256(content).hexdigest()}"


def parse(content: bytes) -> Configuration:
    """Read a configuration; it is not validated yet.

    Raises:
        ConfigurationError: not YAML, of another kind, or of another shape.
    """
    whole = read_document(content, KIND, [API_VERSION])
    rules = tuple(_rule(part) for part in whole.parts("resources"))
    whole.done()
    return Configuration(rules, digest_of(content))


def _rule(part: Part) -> Rule:
    rule = Rule(part.texts("resources"), tuple(_provider(provider) for provider in part.parts("providers")))
    part.done()
    return rule


def _provider(part: Part) -> Provider:
    kinds = tuple(kind for kind in _KINDS if part.has(kind))
    keys: tuple[Key, ...] = ()
    kms: KMSConfig | None = None
    for kind in kinds:
        inner = part.part(kind)
        if kind == KMS:
            kms = _kms(inner)
        elif kind != IDENTITY:
            keys = keys or tuple(_key(key) for key in inner.parts("keys"))
        inner.done()
    for kind in _KINDS:
        part.optional(kind)  # null is as good as absent
    part.done()
    return Provider(kinds, keys, kms)


def _key(part: Part) -> Key:
    key = Key(part.text("name"), part.text("secret"))
    part.done()
    return key


def _kms(part: Part) -> KMSConfig:
    api_version = part.text("apiVersion") or DEFAULT_KMS_VERSION
    timeout = part.optional("timeout")
    cache_size = part.integer("cachesize")
    if cache_size is None and api_version == DEFAULT_KMS_VERSION:
        cache_size = DEFAULT_CACHE_SIZE
    try:
        seconds = DEFAULT_TIMEOUT_SECONDS if timeout is None else parse_duration(timeout)
    except ValueError as error:
        raise ConfigurationError(f"kms.timeout: {error}") from error
    return KMSConfig(api_version, part.text("name"), part.text("endpoint"), seconds, cache_size)
