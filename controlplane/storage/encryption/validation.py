"""What is wrong with an EncryptionConfiguration, in Kubernetes' words. Secrets are not shown.

Source: kubernetes/apiserver ``pkg/apis/apiserver/validation/validation_encryption.go`` (rules, order, texts).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from controlplane.apimachinery.validation.field import OMITTED, FieldError, invalid, required
from controlplane.base.options import format_duration
from controlplane.storage.encryption.configuration import (
    KMS,
    SECRETBOX,
    Configuration,
    Key,
    KMSConfig,
    Provider,
    parse_resource,
)

__all__ = ["NO_PROVIDER", "decoded", "validate"]

NO_PROVIDER = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
_SEVERAL = "more than one provider specified in a single element, should split into different list elements"
_EVENTS = (
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
)
_EXTENSIONS = "'extensions' group has been removed and cannot be used for encryption"
_STAR = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
_OVERLAP = (
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be "
    "masked"
)
_NO_REST = "resources which do not have REST API/s cannot be encrypted"
_CAPITALS = "resource name should not contain capital letters"
_ACROSS = "encrypting the same resource across groups is not supported"
_DUPLICATE = "the same resource cannot be specified multiple times"

_HIDDEN = frozenset({"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"})
_AES_SIZES, _SECRETBOX_SIZES = (16, 24, 32), (32,)
_REDACTED = "REDACTED"
_ALL = ("*", "*")


def validate(configuration: Configuration, *, reload: bool) -> Iterator[FieldError]:
    """All problems. ``reload``: the file is read again when it changes."""
    if not configuration.rules:
        yield required("resources", "at least one resources is required")
    names: set[str] = set()
    for at, rule in enumerate(configuration.rules):
        resources, providers = f"resources[{at}].resources", f"resources[{at}].providers"
        if not rule.resources:
            yield required(resources, f"at least one {resources} is required")
        yield from _overlaps(rule.resources, resources)
        for index, resource in enumerate(rule.resources):
            why = _wrong_name(resource)
            if why:
                yield invalid(f"{resources}[{index}]", resource, why)
        if not rule.providers:
            yield required(providers, f"at least one {providers} is required")
        for index, provider in enumerate(rule.providers):
            yield from _provider(provider, f"{providers}[{index}]", names, reload=reload)


def decoded(secret: str) -> bytes:
    """A key's bytes.

    Raises:
        ValueError: not base64.
    """
    try:
        return base64.b64decode(secret.translate({10: None, 13: None}), validate=True)
    except ValueError as error:  # binascii.Error, or not ASCII
        raise ValueError("secrets must be base64 encoded") from error


def _overlaps(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    parsed = [parse_resource(resource) for resource in resources]
    if len(set(parsed)) < len(parsed):
        yield invalid(path, list(resources), _DUPLICATE)
    groups = [group for group, _ in parsed]
    starred = any(resource == "*" and groups.count(group) > 1 for group, resource in parsed)
    if starred or (_ALL in parsed and len(parsed) > 1):
        yield invalid(path, list(resources), _OVERLAP)


def _wrong_name(resource: str) -> str:
    group, plural = parse_resource(resource)
    if resource.lower() != resource:
        return _CAPITALS
    if resource == "*":
        return _STAR
    if resource in _HIDDEN:
        return _NO_REST
    if group == "events.k8s.io":
        return _EVENTS
    if group == "extensions":
        return _EXTENSIONS
    return _ACROSS if group == "*" and plural != "*" else ""


def _provider(provider: Provider, path: str, names: set[str], *, reload: bool) -> Iterator[FieldError]:
    if not provider.kinds:
        yield invalid(path, OMITTED, NO_PROVIDER)
        return
    if len(provider.kinds) > 1:
        yield invalid(path, OMITTED, _SEVERAL)
    if provider.kms is not None:
        yield from _kms(provider.kms, f"{path}.{KMS}", names, reload=reload)
        names.add(provider.kms.name)
    elif provider.kind != "identity":
        sizes = _SECRETBOX_SIZES if provider.kind == SECRETBOX else _AES_SIZES
        yield from _keys(provider.keys, f"{path}.{provider.kind}.keys", sizes)


def _keys(keys: Sequence[Key], path: str, sizes: Sequence[int]) -> Iterator[FieldError]:
    if not keys:
        yield required(path, "at least one keys is required")
    for at, key in enumerate(keys):
        if not key.name:
            yield required(f"{path}[{at}].name", "name is a mandatory field for a key")
        secret = f"{path}[{at}].secret"
        if not key.secret:
            yield required(secret, "secret is a mandatory field for a key")
            continue
        try:
            size = len(decoded(key.secret))
        except ValueError as error:
            yield invalid(secret, _REDACTED, str(error))
            continue
        if size not in sizes:
            expected = f"[{' '.join(map(str, sizes))}]"
            yield invalid(
                secret, _REDACTED, f"secret is not of the expected length, got {size}, expected one of {expected}"
            )


def _kms(kms: KMSConfig, path: str, names: set[str], *, reload: bool) -> Iterator[FieldError]:
    later = kms.api_version != "v1"
    if not kms.name:
        yield required(f"{path}.name", "name is a mandatory field for a provider")
    if later and ":" in kms.name:
        yield invalid(f"{path}.name", kms.name, f"invalid KMS provider name {kms.name}, must not contain ':'")
    if (reload or later) and kms.name in names:
        yield invalid(f"{path}.name", kms.name, f"duplicate KMS provider name {kms.name}, names must be unique")
    if kms.timeout_seconds <= 0:
        yield invalid(f"{path}.timeout", format_duration(kms.timeout_seconds), "timeout should be a positive value")
    yield from _endpoint(kms.endpoint, f"{path}.endpoint")
    if later and kms.cache_size is not None:
        yield invalid(f"{path}.cachesize", kms.cache_size, "cachesize is not supported in v2")
    if not later and kms.cache_size == 0:
        yield invalid(f"{path}.cachesize", 0, "cachesize should be a positive value, or negative to disable")
    if kms.api_version not in ("v1", "v2"):
        why = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"
        yield invalid(f"{path}.apiVersion", kms.api_version, why)


def _endpoint(endpoint: str, path: str) -> Iterator[FieldError]:
    if not endpoint:
        yield invalid(path, "", "endpoint is a mandatory field for a kms")
        return
    try:
        scheme = urlsplit(endpoint).scheme
    except ValueError as error:
        yield invalid(path, endpoint, f"invalid endpoint for kms provider, error: {error}")
        return
    if scheme != "unix":
        yield invalid(path, endpoint, f'unsupported scheme "{scheme}" for KMS provider, only unix is supported')
