"""How objects are converted between versions: the strategy and its webhook.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``; kubernetes/apiserver
``pkg/util/webhook/validation.go``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from urllib.parse import urlsplit

from controlplane.apiextensions.definition.validation.options import Strictness
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_label

__all__ = ["ca_bundle_error", "conversion_errors"]

_STRATEGIES = ["None", "Webhook"]
_URL_FORM = ", must be of the form https://host/path"


def conversion_errors(conversion: Obj | None, path: str, strictness: Strictness) -> Iterator[FieldError]:
    """What is wrong with a conversion, in its stored form."""
    if conversion is None:
        return
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in _STRATEGIES:
        yield not_supported(f"{path}.strategy", strategy, _STRATEGIES)
    config, reviews = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        yield from _client_config(config, f"{path}.webhookClientConfig", strictness)
        yield from _review_versions(reviews, f"{path}.conversionReviewVersions", known=strictness.review_versions)
        return
    why = "should not be set when strategy is not set to Webhook"
    if config is not None:
        yield forbidden(f"{path}.webhookClientConfig", why)
    if reviews:
        yield forbidden(f"{path}.conversionReviewVersions", why)


def _client_config(config: Obj | None, path: str, strictness: Strictness) -> Iterator[FieldError]:
    if config is None:
        yield required(path, "required when strategy is set to Webhook")
        return
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_errors(url, f"{path}.url")
    else:
        yield from _service_errors(service or {}, f"{path}.service")
    bundle = config.get("caBundle")
    if bundle and not strictness.allow_bad_ca_bundle and (why := ca_bundle_error(bundle)):
        yield invalid(f"{path}.caBundle", bundle, why)


def ca_bundle_error(bundle: str) -> str:
    """Why a bundle (base64 of PEM) cannot be used; ``""`` if it can, or is empty."""
    if not bundle:
        return ""
    from cryptography import x509  # late: its import is a twentieth of a server's start

    try:
        x509.load_pem_x509_certificates(base64.b64decode(bundle))
    except ValueError as error:
        return f"unable to load root certificates: unable to parse bytes as PEM block: {error}"
    return ""


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}; desired format: https://host[/path]")
        return
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}")
    if not parts.netloc:
        yield invalid(path, parts.netloc, f"host must be specified{_URL_FORM}")
    if parts.username is not None:
        yield invalid(path, parts.username, f"user information is not permitted in the URL{_URL_FORM}")
    if parts.fragment:
        yield invalid(path, parts.fragment, f"fragments are not permitted in the URL{_URL_FORM}")
    if parts.query:
        yield invalid(path, parts.query, f"query parameters are not permitted in the URL{_URL_FORM}")


def _service_errors(service: Obj, path: str) -> Iterator[FieldError]:
    if not service.get("name"):
        yield required(f"{path}.name", "service name is required")
    if not service.get("namespace"):
        yield required(f"{path}.namespace", "service namespace is required")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        yield invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    where = service.get("path")
    if where is None or where in ("", "/"):
        return
    if not where.startswith("/"):
        yield invalid(f"{path}.path", where, "must start with a '/'")
        where = "/" + where
    for i, step in enumerate(where[1:].rstrip("/").split("/") if where.endswith("/") else where[1:].split("/")):
        if not step:
            yield invalid(f"{path}.path", where, f"segment[{i}] may not be empty")
        else:
            for problem in dns1123_label(step):
                yield invalid(f"{path}.path", where, f"segment[{i}]: {problem}")


def _review_versions(versions: list[str], path: str, *, known: bool) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{i}]", version, "duplicate version")
            continue
        seen.add(version)
        for problem in dns1035_label(version):
            yield invalid(f"{path}[{i}]", version, problem)
    if known and not seen & {"v1", "v1beta1"}:
        yield invalid(path, versions, "must include at least one of v1, v1beta1")
