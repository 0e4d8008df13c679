"""The metrics of custom resources, under Kubernetes' names."""

from __future__ import annotations

from controlplane.base.metrics import counter, histogram

__all__ = ["CONVERSIONS", "CONVERSION_SECONDS", "WEBHOOK_SECONDS", "observe_conversion"]

WEBHOOK_SECONDS = histogram(
    "apiserver_crd_conversion_webhook_duration_seconds",
    "CRD webhook conversion duration in seconds",
    buckets=tuple(0.001 * 2**n for n in range(15)),  # upstream's
    labels=("crd_name", "from_version", "to_version", "succeeded"),
)
CONVERSIONS = counter(
    "apiserver_conversion_webhook_request_total",
    "Counter for conversion webhook requests with success/failure and failure error type",
    labels=("result", "failure_type"),
)
CONVERSION_SECONDS = histogram(
    "apiserver_conversion_webhook_duration_seconds",
    "Conversion webhook request latency",
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60),  # upstream's
    labels=("result", "failure_type"),
)


def observe_conversion(seconds: float, failure: str) -> None:
    """Count one request to a conversion webhook. ``failure``: its type, ``""`` if it was none."""
    labels = ("failure" if failure else "success", failure)
    CONVERSIONS.labels_cached(labels).inc()
    CONVERSION_SECONDS.labels_cached(labels).observe(seconds)
