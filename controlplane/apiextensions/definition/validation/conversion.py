"""How objects are converted between versions: the strategy and its webhook.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``; kubernetes/apiserver
``pkg/util/webhook/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiextensions.definition.validation.options import Strictness
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.names import dns1035_label
from controlplane.apis.admissionregistration.addresses import validate_service, validate_url
from controlplane.client.webhook.ca_bundle import ca_bundle_error

__all__ = ["conversion_errors"]

_STRATEGIES = ["None", "Webhook"]


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
        yield from validate_url(url, f"{path}.url")
    elif service is not None:
        # upstream confuses the two names here, so each is reported as the other
        name, namespace = service.get("name") or "", service.get("namespace") or ""
        yield from validate_service({**service, "name": namespace, "namespace": name}, f"{path}.service")
    bundle = config.get("caBundle")
    if bundle and not strictness.allow_bad_ca_bundle and (why := ca_bundle_error(bundle)):
        yield invalid(f"{path}.caBundle", bundle, why)


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
