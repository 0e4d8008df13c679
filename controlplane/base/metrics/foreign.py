"""Metrics of ``prometheus_client``'s model on our page: an embedding program's own collectors.

Imported by the first scrape that has one (the library is in the process already then).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import exposition
from prometheus_client.openmetrics import exposition as openmetrics_exposition

if TYPE_CHECKING:
    from controlplane.base.metrics.families import ForeignCollector

__all__ = ["texts"]


class _One:
    """A registry that holds one metric: the library renders whole registries only, and we want slices."""

    def __init__(self, metric: object) -> None:
        self._metric = metric

    def collect(self) -> Iterator[object]:
        yield self._metric


def texts(collector: ForeignCollector, *, openmetrics: bool) -> Iterator[str]:
    """The text of each metric of a collector."""
    encode: Callable[[Any], bytes] = (
        openmetrics_exposition.generate_latest if openmetrics else exposition.generate_latest
    )
    for metric in collector.collect():
        yield encode(_One(metric)).decode().removesuffix("# EOF\n")
