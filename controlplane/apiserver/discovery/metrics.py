"""The metrics of discovery, under Kubernetes' names (kubernetes/apiserver ``pkg/endpoints/discovery/aggregated``)."""

from __future__ import annotations

from controlplane.base.metrics import counter

__all__ = ["AGGREGATIONS", "MERGED_HITS", "MERGED_MISSES", "NO_PEER_REQUESTS"]

AGGREGATIONS = counter(
    "aggregator_discovery_aggregation_count_total", "Counter of number of times discovery was aggregated"
)
MERGED_HITS = counter(
    "aggregator_discovery_peer_aggregated_cache_hits_total",
    "Counter of number of times discovery was served from peer-aggregated cache",
)
MERGED_MISSES = counter(
    "aggregator_discovery_peer_aggregated_cache_misses_total",
    "Counter of number of times discovery was aggregated across all API servers",
)
NO_PEER_REQUESTS = counter(
    "aggregator_discovery_nopeer_requests_total",
    "Counter of number of times no-peer (non peer-aggregated) discovery was requested",
)
