"""Metrics of tokens of other issuers, and of their configuration, under Kubernetes' names.

Source: kubernetes/apiserver ``plugin/pkg/authenticator/token/oidc/metrics.go`` and
``pkg/server/options/authenticationconfig/metrics``.
"""

from __future__ import annotations

from hashlib import sha256

from controlplane.base import metrics

__all__ = ["record_config", "record_fetch", "record_latency", "record_reload"]

_ID = ""
"""Of this server; it has none yet."""

LATENCY = metrics.histogram(
    "apiserver_authentication_jwt_authenticator_latency_seconds",
    "Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss "
    "only (i.e. when the token is not found in the cache).",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    labels=("result", "jwt_issuer_hash"),
)
FETCHED = metrics.gauge(
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
    "Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the "
    "JWT authenticator.",
    labels=("result", "jwt_issuer_hash", "apiserver_id_hash"),
)
KEY_SET = metrics.gauge(
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
    "Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity "
    "and jwt issuer.",
    labels=("jwt_issuer_hash", "apiserver_id_hash", "hash"),
)
RELOADS = metrics.counter(
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authentication configuration split by status and apiserver identity.",
    labels=("status", "apiserver_id_hash"),
    stability=metrics.BETA,
)
RELOADED = metrics.gauge(
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.",
    labels=("status", "apiserver_id_hash"),
    stability=metrics.BETA,
)
CONFIG = metrics.gauge(
    "apiserver_authentication_config_controller_last_config_info",
    "Information about the last applied authentication configuration with hash as label, split by apiserver identity.",
    labels=("apiserver_id_hash", "hash"),
)


def record_latency(issuer: str, seconds: float, *, succeeded: bool) -> None:
    LATENCY.labels_cached(("success" if succeeded else "failure", _hash(issuer.encode()))).observe(seconds)


def record_fetch(issuer: str, now: float, *, key_set: str) -> None:
    """``key_set``: the hash of what was fetched; ``""``: the fetch has failed."""
    hashed = _hash(issuer.encode())
    FETCHED.labels_cached(("success" if key_set else "failure", hashed, _ID)).set(now)
    if key_set:
        KEY_SET.labels_cached((hashed, _ID, f"sha256:{key_set}")).set(1)


def record_reload(content: bytes | None, now: float) -> None:
    """``content``: what is in force now; None: the reload has failed."""
    status = "success" if content is not None else "failure"
    RELOADS.labels_cached((status, _ID)).inc()
    RELOADED.labels_cached((status, _ID)).set(now)
    if content is not None:
        record_config(content)


def record_config(content: bytes) -> None:
    CONFIG.labels_cached((_ID, _hash(content))).set(1)


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}" if data else ""
