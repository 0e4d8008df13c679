"""The mirror's metrics, under Kubernetes' names where it has them."""

from __future__ import annotations

from controlplane.base.metrics import BETA, counter, gauge, histogram

__all__ = [
    "CONSISTENT_READS",
    "DECODE_ERRORS",
    "EVENTS_DISPATCHED",
    "EVENTS_RECEIVED",
    "HISTORY_READS",
    "INITIALIZATIONS",
    "INIT_EVENTS",
    "MARKERS",
    "READ_WAIT",
    "RESOURCE_VERSION",
    "STREAMS_LOST",
    "TERMINATED_WATCHERS",
    "WATCHERS",
    "WATCH_EVENTS",
]

WATCH_EVENTS = counter(
    "apiserver_watch_events_total",
    "Number of events sent in watch clients",
    labels=("group", "version", "resource"),
    stability=BETA,
)
INIT_EVENTS = counter(
    "apiserver_init_events_total",
    "Counter of init events processed in watch cache broken by resource type.",
    labels=("group", "resource"),
)
EVENTS_RECEIVED = counter(
    "apiserver_watch_cache_events_received_total",
    "Counter of events received in watch cache broken by resource type.",
    labels=("group", "resource"),
)
EVENTS_DISPATCHED = counter(
    "apiserver_watch_cache_events_dispatched_total",
    "Counter of events dispatched in watch cache broken by resource type.",
    labels=("group", "resource"),
)
TERMINATED_WATCHERS = counter(
    "apiserver_terminated_watchers_total",
    "Counter of watchers closed due to unresponsiveness broken by resource type.",
    labels=("group", "resource"),
)
INITIALIZATIONS = counter(
    "apiserver_watch_cache_initializations_total",
    "Counter of watch cache initializations; one mirror holds all resources, so there is one for all.",
)
CONSISTENT_READS = counter(
    "apiserver_watch_cache_consistent_read_total",
    "Counter for consistent reads from cache.",
    labels=("group", "resource", "success", "fallback"),
)
READ_WAIT = histogram(
    "apiserver_watch_cache_read_wait_seconds",
    "Histogram of time spent waiting for a watch cache to become fresh.",
    buckets=(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3),  # upstream's
    labels=("group", "resource"),
)
RESOURCE_VERSION = gauge(
    "apiserver_watch_cache_resource_version",
    "Current resource version of the watch cache; one mirror holds all resources, so it is one for all.",
)
DECODE_ERRORS = counter(
    "apiserver_storage_decode_errors_total",
    "Number of stored object decode errors split by object type",
    labels=("group", "resource"),
)
WATCHERS = gauge("controlplane_mirror_watchers", "Open watches.")
STREAMS_LOST = counter("controlplane_mirror_streams_lost_total", "How often the mirror lost its stream from the store.")
MARKERS = counter(
    "controlplane_mirror_markers_total",
    "Marker keys written to prove reads consistent, where the store's own progress cannot be trusted.",
)
HISTORY_READS = counter(
    "controlplane_mirror_history_reads_total",
    "Watches and lists that began before the ring and were read from the store's history.",
    labels=("what",),
)
