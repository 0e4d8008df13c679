"""Metrics of admission policies, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/validating/metrics`` and ``mutating/metrics``.
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["error_type", "observe_check", "observe_mutation"]

_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_CHECK_LABELS = ("policy", "policy_binding", "error_type", "enforcement_action")
_MUTATION_LABELS = ("policy", "policy_binding", "error_type")

_CHECKS = metrics.counter(
    "apiserver_validating_admission_policy_check_total",
    "What became of the checks of validating admission policies, by policy, binding, kind of error and action taken.",
    labels=_CHECK_LABELS,
    stability=metrics.BETA,
)
_CHECK_SECONDS = metrics.histogram(
    "apiserver_validating_admission_policy_check_duration_seconds",
    "Duration of single expressions of validating admission policies, by policy, binding, kind of error and action.",
    buckets=_BUCKETS,
    labels=_CHECK_LABELS,
    stability=metrics.BETA,
)
_MUTATIONS = metrics.counter(
    "apiserver_mutating_admission_policy_check_total",
    "Mutations of mutating admission policies, by policy, binding and kind of error.",
    labels=_MUTATION_LABELS,
)
_MUTATION_SECONDS = metrics.histogram(
    "apiserver_mutating_admission_policy_check_duration_seconds",
    "Duration of single mutations of mutating admission policies, by policy, binding and kind of error.",
    buckets=_BUCKETS,
    labels=_MUTATION_LABELS,
)


def error_type(error: str) -> str:
    """The kind of an error by its text; ``""`` is none."""
    if not error:
        return "no_error"
    if error.startswith("compilation"):
        return "compile_error"
    if error.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"


def observe_check(policy: str, binding: str, error: str, action: str, seconds: float) -> None:
    """Note one check. ``action``: allow, deny, audit or warn."""
    labels = (policy, binding, error_type(error), action)
    _CHECKS.labels_cached(labels).inc()
    _CHECK_SECONDS.labels_cached(labels).observe(seconds)


def observe_mutation(policy: str, binding: str, error: str, seconds: float) -> None:
    """Note one mutation."""
    labels = (policy, binding, error_type(error))
    _MUTATIONS.labels_cached(labels).inc()
    _MUTATION_SECONDS.labels_cached(labels).observe(seconds)
