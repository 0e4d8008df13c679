"""Who decides, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/authorization/metrics``.
"""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["DECISIONS"]

DECISIONS = metrics.counter(
    "apiserver_authorization_decisions_total",
    "Terminal decisions made by an authorizer, by its type, name, and decision (allowed or denied).",
    labels=("type", "name", "decision"),
)
