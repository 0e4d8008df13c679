"""The metrics of aggregation, under Kubernetes' names (kubernetes/kube-aggregator)."""

from __future__ import annotations

from controlplane.base.metrics import counter, gauge

__all__ = ["UNAVAILABLE", "UNAVAILABLE_TOTAL"]

UNAVAILABLE = gauge(
    "aggregator_unavailable_apiservice",
    "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    labels=("name",),
)
UNAVAILABLE_TOTAL = counter(
    "aggregator_unavailable_apiservice_total",
    "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    labels=("name", "reason"),
)
