"""How long rules of custom resources take, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/cel/metrics`` (the buckets are those of the client library).
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["COMPILATION_SECONDS", "EVALUATION_SECONDS"]

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

COMPILATION_SECONDS = metrics.histogram(
    "apiserver_cel_compilation_duration_seconds",
    "Time to compile the rules of one schema, in seconds.",
    buckets=_BUCKETS,
    stability=metrics.BETA,
)
EVALUATION_SECONDS = metrics.histogram(
    "apiserver_cel_evaluation_duration_seconds",
    "Time to evaluate the rules that an object has, in seconds.",
    buckets=_BUCKETS,
    stability=metrics.BETA,
)
