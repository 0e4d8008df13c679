"""Metrics of authentication, under Kubernetes' names."""

from __future__ import annotations

from controlplane.base import metrics

__all__ = [
    "CERTIFICATE_EXPIRATION",
    "TOKEN_CACHE_ACTIVE_FETCHES",
    "TOKEN_CACHE_FETCHES",
    "TOKEN_CACHE_HIT",
    "TOKEN_CACHE_MISS",
    "TOKEN_CACHE_REQUESTS",
    "TOKEN_CACHE_SECONDS",
]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

CERTIFICATE_EXPIRATION = metrics.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
    buckets=(
        0,
        30 * _MINUTE,
        _HOUR,
        2 * _HOUR,
        6 * _HOUR,
        12 * _HOUR,
        _DAY,
        2 * _DAY,
        4 * _DAY,
        7 * _DAY,
        30 * _DAY,
        90 * _DAY,
        180 * _DAY,
        360 * _DAY,
    ),
)
"""Buckets are Kubernetes'."""

_DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

TOKEN_CACHE_REQUESTS = metrics.counter("authentication_token_cache_request_total", "", labels=("status",))
TOKEN_CACHE_SECONDS = metrics.histogram(
    "authentication_token_cache_request_duration_seconds", "", buckets=_DEFAULT_BUCKETS, labels=("status",)
)
TOKEN_CACHE_FETCHES = metrics.counter("authentication_token_cache_fetch_total", "", labels=("status",))
TOKEN_CACHE_ACTIVE_FETCHES = metrics.gauge("authentication_token_cache_active_fetch_count", "", labels=("status",))
"""Of what is known of tokens without asking again: verified signatures, answers of issuers and webhooks."""

TOKEN_CACHE_HIT = TOKEN_CACHE_REQUESTS.labels_cached(("hit",))
TOKEN_CACHE_MISS = TOKEN_CACHE_REQUESTS.labels_cached(("miss",))
