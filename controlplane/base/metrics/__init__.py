"""Metrics: declared in a ``metrics.py`` beside the code, counted cheaply, exposed as Prometheus text or OpenMetrics."""

from controlplane.base.metrics import process
from controlplane.base.metrics.exposition import Exposition, render
from controlplane.base.metrics.families import (
    ALPHA,
    BETA,
    REGISTRY,
    STABLE,
    Counter,
    CounterChild,
    Gauge,
    GaugeChild,
    Histogram,
    HistogramChild,
    Registry,
    counter,
    gauge,
    histogram,
)
from controlplane.base.metrics.tally import Tally, tally

__all__ = [
    "ALPHA",
    "BETA",
    "REGISTRY",
    "STABLE",
    "Counter",
    "CounterChild",
    "Exposition",
    "Gauge",
    "GaugeChild",
    "Histogram",
    "HistogramChild",
    "Registry",
    "Tally",
    "counter",
    "gauge",
    "histogram",
    "process",
    "render",
    "tally",
]
