"""Metrics of the server around the requests: connections, health checks, hooks. Names are Kubernetes'."""

from __future__ import annotations

from controlplane.base import metrics
from controlplane.base.metrics import Registry

__all__ = [
    "BUILD_INFO",
    "CONNECTIONS",
    "CONNECTIONS_REFUSED",
    "HEALTH_CHECK",
    "HEALTH_CHECKS",
    "SLIS",
    "TLS_HANDSHAKE_ERRORS",
]

SLIS = Registry()
"""Service level indicators: a page of their own, short enough to be scraped every few seconds."""

TLS_HANDSHAKE_ERRORS = metrics.counter(
    "apiserver_tls_handshake_errors_total", "Number of requests dropped with 'TLS handshake error from' error"
)

CONNECTIONS = metrics.gauge("controlplane_connections", "Connections that clients have open.")

CONNECTIONS_REFUSED = metrics.counter(
    "controlplane_connections_refused_total",
    "Connections refused because there are too many, in all (total) or from one address (address).",
    labels=("reason",),
)

HEALTH_CHECK = metrics.gauge(
    "kubernetes_healthcheck",
    "Result of the last health check, by name and endpoint: 1 passed, 0 failed.",
    labels=("name", "type"),
    stability=metrics.STABLE,
    registry=SLIS,
)

HEALTH_CHECKS = metrics.counter(
    "kubernetes_healthchecks_total",
    "Health checks made, by name, endpoint and outcome.",
    labels=("name", "type", "status"),
    stability=metrics.STABLE,
    registry=SLIS,
)

BUILD_INFO = metrics.gauge(
    "kubernetes_build_info",
    "A constant 1, labelled with what this server was built from.",
    labels=(
        "major",
        "minor",
        "git_version",
        "git_commit",
        "git_tree_state",
        "build_date",
        "go_version",
        "compiler",
        "platform",
    ),
)
