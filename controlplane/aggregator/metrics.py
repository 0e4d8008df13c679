"""The metrics of aggregation, under Kubernetes' names (kubernetes/kube-aggregator)."""

from __future__ import annotations

from controlplane.base.metrics import counter, gauge

__all__ = ["SWAGGER_CHANGES", "SWAGGER_SECONDS", "UNAVAILABLE", "UNAVAILABLE_TOTAL"]

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

SWAGGER_CHANGES = counter(
    "aggregator_openapi_v2_regeneration_count",
    "Counter of OpenAPI v2 spec regeneration count broken down by causing APIService name and reason.",
    labels=("apiservice", "reason"),
)
SWAGGER_SECONDS = gauge(
    "aggregator_openapi_v2_regeneration_duration",
    "Gauge of OpenAPI v2 spec regeneration duration in seconds.",
    labels=("reason",),
)
