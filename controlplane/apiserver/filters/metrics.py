"""Metrics of requests. Names, labels, buckets and stability are Kubernetes', so that dashboards work.

Source: kubernetes/apiserver ``pkg/endpoints/metrics`` and ``pkg/endpoints/filters/metrics.go``.
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = [
    "AUTHENTICATED_USERS",
    "AUTHENTICATION_ATTEMPTS",
    "AUTHENTICATION_SECONDS",
    "AUTHORIZATION_ATTEMPTS",
    "AUTHORIZATION_SECONDS",
    "FILTER_SECONDS",
    "INFLIGHT",
    "LONG_RUNNING",
    "REQUESTS",
    "REQUEST_ABORTS",
    "REQUEST_SECONDS",
    "RESPONSE_BYTES",
    "SELF_REQUESTS",
    "TERMINATIONS",
]

_RESOURCE = ("group", "version", "resource", "subresource", "scope", "component")
_AUTH_BUCKETS = tuple(0.001 * 2**power for power in range(15))

REQUESTS = metrics.counter(
    "apiserver_request_total",
    "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component,"
    " and HTTP response code.",
    labels=("verb", "dry_run", *_RESOURCE, "code"),
    stability=metrics.STABLE,
)

REQUEST_SECONDS = metrics.histogram(
    "apiserver_request_duration_seconds",
    "Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, "
    "scope and component.",
    buckets=(
        *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3),
        *(4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
    ),
    labels=("verb", "dry_run", *_RESOURCE),
    stability=metrics.STABLE,
)

RESPONSE_BYTES = metrics.histogram(
    "apiserver_response_sizes",
    "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
    buckets=tuple(1000.0 * 10**power for power in range(7)),  # 1 KB to 1 GB
    labels=("verb", *_RESOURCE),
    stability=metrics.STABLE,
)

LONG_RUNNING = metrics.gauge(
    "apiserver_longrunning_requests",
    "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and "
    "component.",
    labels=("verb", *_RESOURCE),
    stability=metrics.STABLE,
)

INFLIGHT = metrics.gauge(
    "apiserver_current_inflight_requests",
    "Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
    labels=("request_kind",),
    stability=metrics.STABLE,
)

TERMINATIONS = metrics.counter(
    "apiserver_request_terminations_total",
    "Number of requests which apiserver terminated in self-defense.",
    labels=("verb", *_RESOURCE, "code"),
)

REQUEST_ABORTS = metrics.counter(
    "apiserver_request_aborts_total",
    "Number of requests which apiserver aborted possibly due to a timeout, for each group, version, verb, resource, "
    "subresource and scope.",
    labels=("verb", "group", "version", "resource", "subresource", "scope"),
)

SELF_REQUESTS = metrics.counter(
    "apiserver_selfrequest_total",
    "Counter of apiserver self-requests broken out for each verb, API resource and subresource.",
    labels=("verb", "group", "resource", "subresource"),
)

FILTER_SECONDS = metrics.histogram(
    "apiserver_request_filter_duration_seconds",
    "Request filter latency distribution in seconds, for each filter type.",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0),
    labels=("filter",),
)

AUTHENTICATED_USERS = metrics.counter(
    "authenticated_user_requests",
    "Counter of authenticated requests broken out by username.",
    labels=("username",),
)

AUTHENTICATION_ATTEMPTS = metrics.counter(
    "authentication_attempts", "Counter of authenticated attempts.", labels=("result",)
)

AUTHENTICATION_SECONDS = metrics.histogram(
    "authentication_duration_seconds",
    "Authentication duration in seconds broken out by result.",
    buckets=_AUTH_BUCKETS,
    labels=("result",),
)

AUTHORIZATION_ATTEMPTS = metrics.counter(
    "authorization_attempts_total",
    "Counter of authorization attempts broken down by result: allowed, denied, no-opinion or error.",
    labels=("result",),
)

AUTHORIZATION_SECONDS = metrics.histogram(
    "authorization_duration_seconds",
    "Authorization duration in seconds broken out by result.",
    buckets=_AUTH_BUCKETS,
    labels=("result",),
)
