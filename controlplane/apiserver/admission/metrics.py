"""Metrics of admission, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/admission/metrics/metrics.go``; its summary of the same figures is left out.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from controlplane.base import metrics
from controlplane.base.metrics.families import HistogramChild

__all__ = [
    "CONDITION_ERRORS",
    "CONDITION_EXCLUSIONS",
    "CONDITION_SECONDS",
    "Outcomes",
    "plugin_seconds",
    "step_seconds",
]

_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)

_STEP = metrics.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Duration of an admission phase (type admit or validate), by operation and whether the request was rejected.",
    buckets=_BUCKETS,
    labels=("type", "operation", "rejected"),
    stability=metrics.STABLE,
)
_PLUGIN = metrics.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Duration of one admission plugin, by its name, phase, operation and whether it rejected the request.",
    buckets=_BUCKETS,
    labels=("name", "type", "operation", "rejected"),
    stability=metrics.STABLE,
)


_CONDITION_LABELS = ("name", "kind", "type", "operation")
CONDITION_ERRORS = metrics.counter(
    "apiserver_admission_match_condition_evaluation_errors_total",
    "Match conditions that could not be evaluated, by the webhook's or policy's name, kind, type and operation.",
    labels=_CONDITION_LABELS,
)
CONDITION_EXCLUSIONS = metrics.counter(
    "apiserver_admission_match_condition_exclusions_total",
    "Requests that a webhook or policy did not see because of its match conditions, by name, kind, type and operation.",
    labels=_CONDITION_LABELS,
)
CONDITION_SECONDS = metrics.histogram(
    "apiserver_admission_match_condition_evaluation_seconds",
    "Duration of evaluating the match conditions of a webhook or policy, by name, kind, type and operation.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
    labels=_CONDITION_LABELS,
)


class Outcomes(NamedTuple):
    """Where a duration is noted."""

    accepted: HistogramChild
    rejected: HistogramChild


@cache
def step_seconds(phase: str, operation: str) -> Outcomes:
    """Of a phase (``admit``, ``validate``) as a whole."""
    return Outcomes(*(_STEP.labels_cached((phase, operation, rejected)) for rejected in ("false", "true")))


def plugin_seconds(name: str, phase: str, operation: str) -> Outcomes:
    """Of one plugin."""
    return Outcomes(*(_PLUGIN.labels_cached((name, phase, operation, rejected)) for rejected in ("false", "true")))
