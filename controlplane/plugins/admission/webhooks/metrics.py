"""Metrics of admission webhooks, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/admission/metrics/metrics.go``.
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["FAILED_OPEN", "observe", "observe_rejection"]

_SECONDS = metrics.histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Duration of calls of an admission webhook, by its name, phase, operation and whether it rejected the request.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25),
    labels=("name", "type", "operation", "rejected"),
    stability=metrics.STABLE,
)
_REQUESTS = metrics.counter(
    "apiserver_admission_webhook_request_total",
    "Calls of an admission webhook, by its name, phase, operation, status code (600 at most) and whether it rejected "
    "the request.",
    labels=("name", "type", "operation", "code", "rejected"),
)
_REJECTIONS = metrics.counter(
    "apiserver_admission_webhook_rejection_count",
    "Requests rejected because of an admission webhook, by its name, phase, operation, kind of error (no_error, "
    "calling_webhook_error, apiserver_internal_error) and status code (600 at most).",
    labels=("name", "type", "operation", "error_type", "rejection_code"),
)
FAILED_OPEN = metrics.counter(
    "apiserver_admission_webhook_fail_open_count",
    "Calls of an admission webhook that failed and were ignored, by its name and phase.",
    labels=("name", "type"),
)

_HIGHEST_CODE = 600


def observe(name: str, step: str, operation: str, *, seconds: float, code: int, rejected: bool) -> None:
    """Note one call."""
    outcome = str(rejected).lower()
    _REQUESTS.labels_cached((name, step, operation, str(min(code, _HIGHEST_CODE)), outcome)).inc()
    _SECONDS.labels_cached((name, step, operation, outcome)).observe(seconds)


def observe_rejection(name: str, step: str, operation: str, *, error_type: str, code: int) -> None:
    """Note that a request was rejected because of a webhook."""
    _REJECTIONS.labels_cached((name, step, operation, error_type, str(min(code, _HIGHEST_CODE)))).inc()
