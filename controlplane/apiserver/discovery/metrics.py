"""The metrics of discovery, under Kubernetes' names (kubernetes/apiserver ``pkg/endpoints/discovery/aggregated``)."""

from __future__ import annotations

from controlplane.base.metrics import counter

__all__ = ["AGGREGATIONS"]

AGGREGATIONS = counter(
    "aggregator_discovery_aggregation_count_total", "Counter of number of times discovery was aggregated"
)
