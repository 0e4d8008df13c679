"""The framework's metrics. ``workqueue_*`` and ``leader_election_*`` are Kubernetes' own (kubernetes/component-base
``metrics/prometheus``); a queue is named after its controller."""

from __future__ import annotations

from controlplane.base import metrics

__all__ = [
    "ADDS",
    "DEPTH",
    "LEADER",
    "LEADER_SLOW_PATH",
    "LONGEST_RUNNING",
    "QUEUE_SECONDS",
    "RECONCILES",
    "RETRIES",
    "UNFINISHED",
    "WORK_SECONDS",
]

_BUCKETS = tuple(1e-8 * 10**power for power in range(10))
"""Ten, from 10 ns to 10 s, as upstream's."""

DEPTH = metrics.gauge("workqueue_depth", "Current depth of workqueue", labels=("name",), stability=metrics.BETA)
ADDS = metrics.counter(
    "workqueue_adds_total", "Total number of adds handled by workqueue", labels=("name",), stability=metrics.BETA
)
QUEUE_SECONDS = metrics.histogram(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested.",
    buckets=_BUCKETS,
    labels=("name",),
    stability=metrics.BETA,
)
WORK_SECONDS = metrics.histogram(
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes.",
    buckets=_BUCKETS,
    labels=("name",),
    stability=metrics.BETA,
)
UNFINISHED = metrics.gauge(
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values "
    "indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    labels=("name",),
    stability=metrics.BETA,
)
LONGEST_RUNNING = metrics.gauge(
    "workqueue_longest_running_processor_seconds",
    "How many seconds has the longest running processor for workqueue been running.",
    labels=("name",),
    stability=metrics.BETA,
)
RETRIES = metrics.counter(
    "workqueue_retries_total",
    "Total number of retries handled by workqueue",
    labels=("name",),
    stability=metrics.BETA,
)
LEADER = metrics.gauge(
    "leader_election_master_status",
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' "
    "is the string used to identify the lease. Please make sure to group by name.",
    labels=("name",),
)
LEADER_SLOW_PATH = metrics.counter(
    "leader_election_slowpath_total",
    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. "
    "Please make sure to group by name.",
    labels=("name",),
)
RECONCILES = metrics.counter(
    "controlplane_reconcile_total",
    "Reconciles that ended, by controller and result: success, requeue_after, error or terminal.",
    labels=("controller", "result"),
)
