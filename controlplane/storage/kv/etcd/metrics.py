"""Requests to etcd, under kube-apiserver's names.

Source: kubernetes/apiserver pkg/storage/etcd3/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from controlplane.base.metrics import Tally, counter, histogram, tally

__all__ = ["DURATION", "ERRORS", "LEASE_OBJECTS", "REQUESTS", "RequestCounter"]

_LABELS: Final = ("operation", "group", "resource")

DIRECTORIES: Final = 4_096
"""Remembered; there are as many as namespaces with something in them, for each resource and operation."""

DURATION: Final = histogram(
    "etcd_request_duration_seconds",
    "Etcd request latency in seconds for each operation and object type.",
    # upstream's
    buckets=(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
    labels=_LABELS,
)
REQUESTS: Final = counter(
    "etcd_requests_total", "Etcd request counts for each operation and object type.", labels=_LABELS
)
ERRORS: Final = counter(
    "etcd_request_errors_total", "Etcd failed request counts for each operation and object type.", labels=_LABELS
)
LEASE_OBJECTS: Final = histogram(
    "etcd_lease_object_counts",
    "Number of objects attached to a single etcd lease.",
    buckets=(10, 50, 100, 500, 1000, 2500, 5000),
)


class RequestCounter:
    """Counts requests; ``name_of``: group and resource of a key, both ``""`` for a key of no resource."""

    __slots__ = ("_beside", "_known", "name_of")

    def __init__(self) -> None:
        self.name_of: Callable[[bytes], tuple[str, str]] = _unnamed
        self._beside: dict[tuple[str, bytes], Tally] = {}
        self._known: dict[tuple[str, tuple[str, str]], Tally] = {}

    def count(self, operation: str, key: bytes, begun: float, *, failed: bool = False) -> None:
        """A request has been answered, or has failed; ``begun``: when, by ``perf_counter``."""
        what = operation, key[: key.rfind(b"/")]
        noted = self._beside.get(what)
        if noted is None:
            noted = self._find(what, self.name_of(key))
        noted.note(perf_counter() - begun)
        if failed:
            ERRORS.labels_cached((operation, *self.name_of(key))).inc()

    def _find(self, what: tuple[str, bytes], name: tuple[str, str]) -> Tally:
        """Where it is noted, remembered for all keys beside this one if it is a resource's: such a name stays."""
        noted = self._known.get((what[0], name)) or self._learn(what[0], *name)
        if any(name):
            if len(self._beside) >= DIRECTORIES:
                self._beside.clear()
            self._beside[what] = noted
        return noted

    def _learn(self, operation: str, group: str, resource: str) -> Tally:
        """Keep at hand what counts one operation on one resource; there are no more than metrics have children."""
        labels = operation, group, resource
        known = self._known[operation, (group, resource)] = tally(
            (REQUESTS.labels_cached(labels),), (DURATION.labels_cached(labels),)
        )
        return known


def _unnamed(_: bytes) -> tuple[str, str]:
    return "", ""
