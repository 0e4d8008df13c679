"""Metrics of impersonation, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/endpoints/filters/impersonation/metrics``.
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["record_attempt", "record_check"]

_BUCKETS = tuple(0.001 * 2**power for power in range(15))
_LABELS = ("mode", "decision")
_MODES = ("associated-node", "arbitrary-node", "serviceaccount", "user-info")

ATTEMPTS = metrics.counter(
    "apiserver_impersonation_attempts_total",
    "Total number of impersonation attempts split by mode and decision.",
    labels=_LABELS,
)
ATTEMPT_SECONDS = metrics.histogram(
    "apiserver_impersonation_attempts_duration_seconds",
    "Latency of impersonation attempts in seconds split by mode and decision.",
    buckets=_BUCKETS,
    labels=_LABELS,
)
CHECKS = metrics.counter(
    "apiserver_impersonation_authorization_attempts_total",
    "Total number of authorization checks made by the impersonation handler split by mode and decision.",
    labels=_LABELS,
)
CHECK_SECONDS = metrics.histogram(
    "apiserver_impersonation_authorization_attempts_duration_seconds",
    "Latency of authorization checks made by the impersonation handler in seconds split by mode and decision.",
    buckets=_BUCKETS,
    labels=_LABELS,
)


def record_attempt(constraint: str, seconds: float, *, allowed: bool) -> None:
    """``constraint``: the verb that allowed it, ``""``: legacy impersonation. Of a refusal no mode is told."""
    mode = "" if not allowed else _mode(constraint or "impersonate")
    labels = (mode, "allowed" if allowed else "denied")
    ATTEMPTS.labels_cached(labels).inc()
    ATTEMPT_SECONDS.labels_cached(labels).observe(seconds)


def record_check(verb: str, allowed: bool, seconds: float) -> None:  # noqa: FBT001  # the answer to the check
    labels = (_mode(verb), "allowed" if allowed else "denied")
    CHECKS.labels_cached(labels).inc()
    CHECK_SECONDS.labels_cached(labels).observe(seconds)


def _mode(verb: str) -> str:
    if verb == "impersonate":
        return "legacy"
    for mode in _MODES:
        if verb == f"impersonate:{mode}" or verb.startswith(f"impersonate-on:{mode}:"):
            return mode
    return "unknown"
