"""Metrics of webhooks that decide, and of their configuration, under Kubernetes' names.

Source: kubernetes/apiserver ``plugin/pkg/authorizer/webhook/metrics``, ``pkg/authorization/cel/metrics.go`` and
``pkg/server/options/authorizationconfig/metrics``.
"""

from __future__ import annotations

from hashlib import sha256

from controlplane.base import metrics

__all__ = ["EVALUATIONS", "EXCLUSIONS", "FAIL_OPEN", "MATCHING", "MATCH_ERRORS", "SECONDS", "record_reload"]

_ID = ""
"""Of this server; it has none yet."""

EVALUATIONS = metrics.counter(
    "apiserver_authorization_webhook_evaluations_total",
    "Round-trips to authorization webhooks.",
    labels=("name", "result"),
)
SECONDS = metrics.histogram(
    "apiserver_authorization_webhook_duration_seconds",
    "Request latency in seconds.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    labels=("name", "result"),
)
FAIL_OPEN = metrics.counter(
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "NoOpinion results due to webhook timeout or error.",
    labels=("name", "result"),
)
MATCHING = metrics.histogram(
    "apiserver_authorization_match_condition_evaluation_seconds",
    "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
    labels=("type", "name"),
)
MATCH_ERRORS = metrics.counter(
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type "
    "and name.",
    labels=("type", "name"),
)
EXCLUSIONS = metrics.counter(
    "apiserver_authorization_match_condition_exclusions_total",
    "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    labels=("type", "name"),
)
RELOADS = metrics.counter(
    "apiserver_authorization_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authorization configuration split by status and apiserver identity.",
    labels=("status", "apiserver_id_hash"),
    stability=metrics.BETA,
)
RELOADED = metrics.gauge(
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.",
    labels=("status", "apiserver_id_hash"),
    stability=metrics.BETA,
)
CONFIG = metrics.gauge(
    "apiserver_authorization_config_controller_last_config_info",
    "Information about the last applied authorization configuration with hash as label, split by apiserver identity.",
    labels=("apiserver_id_hash", "hash"),
)


def record_reload(content: bytes | None, now: float) -> None:
    """``content``: what is in force now; None: the reload has failed."""
    status = "success" if content is not None else "failure"
    RELOADS.labels_cached((status, _ID)).inc()
    RELOADED.labels_cached((status, _ID)).set(now)
    if content is not None:
        CONFIG.labels_cached((_ID, f"sha256:{sha256(content).hexdigest()}")).set(1)
