"""Counters, gauges and histograms: what is counted, held in plain Python numbers.

A family is one metric; a child is one combination of label values, kept and counted on directly:

    REQUESTS = metrics.counter("apiserver_request_total", "Requests.", labels=("verb", "code"))
    child = REQUESTS.labels_cached(("get", "200"))   # once
    child.inc()                                      # per request

Families without labels are their own child. Children are counted on from the loop; one ``inc`` or ``observe`` from
another thread is safe too, since the interpreter does not switch threads inside it.

Why not prometheus_client's own: docs/decisions/0003-metrics.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as CountOf
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

__all__ = [
    "ALPHA",
    "BETA",
    "REGISTRY",
    "STABLE",
    "Counter",
    "CounterChild",
    "Family",
    "ForeignCollector",
    "Gauge",
    "GaugeChild",
    "Histogram",
    "HistogramChild",
    "Registry",
    "counter",
    "gauge",
    "histogram",
]

ALPHA = "ALPHA"
BETA = "BETA"
STABLE = "STABLE"

CHILDREN_LIMIT = 10_000
"""Label combinations of one family; what comes after is counted under ``other``, so that a client who can choose label
values (by custom resources) cannot fill the memory. A scrape of as many histogram children is about 30 MB."""

Labels = tuple[str, ...]
C = TypeVar("C")


class Settles(Protocol):
    """What holds observations for others, and hands them on when told."""

    def settle(self) -> None: ...


class _Number:
    """A value that is kept, or asked for at each scrape. ``tallies``: what may hold some more of it, asked before it is
    read."""

    __slots__ = ("_function", "_value", "tallies")

    def __init__(self) -> None:
        self._value: float = 0
        self._function: Callable[[], float] | None = None
        self.tallies: tuple[Settles, ...] = ()

    @property
    def value(self) -> float:
        for tally in self.tallies:
            tally.settle()
        return self._value if self._function is None else self._function()

    def inc(self, amount: float = 1) -> None:
        self._value += amount

    def read_from(self, function: Callable[[], float]) -> None:
        """Call ``function`` at each scrape instead of keeping a value. It must be quick and must not raise."""
        self._function = function


class CounterChild(_Number):
    """A number that only grows: ``inc`` takes no negative amounts."""

    __slots__ = ()

    def reset(self) -> None:
        """Count from 0 again. What is asked for at each scrape stays as it is."""
        for tally in self.tallies:
            tally.settle()
        self._value = 0


class GaugeChild(_Number):
    """A number that goes up and down."""

    __slots__ = ()

    def set(self, value: float) -> None:
        self._value = value

    def dec(self, amount: float = 1) -> None:
        self._value -= amount


class HistogramChild:
    """Observations by bucket; ``counts`` are not cumulative, the last one is above all bounds. ``tallies``: what may
    hold some more, asked before anything is read."""

    __slots__ = ("_bounds", "_counts", "_sum", "tallies")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum: float = 0.0
        self.tallies: tuple[Settles, ...] = ()

    @property
    def counts(self) -> list[int]:
        for tally in self.tallies:
            tally.settle()
        return self._counts

    @property
    def sum(self) -> float:
        for tally in self.tallies:
            tally.settle()
        return self._sum

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def observe_all(self, values: Sequence[float]) -> None:
        """Observe many: a tenth of the price of one after another."""
        for index, times in CountOf(map(partial(bisect_left, self._bounds), values)).items():
            self._counts[index] += times
        self._sum += sum(values)

    def reset(self) -> None:
        """Forget all observations."""
        for tally in self.tallies:
            tally.settle()
        self._counts[:] = [0] * len(self._counts)
        self._sum = 0.0


class Family(Generic[C]):
    """One metric and its children. ``type`` is Prometheus' word for it."""

    type = ""

    def __init__(self, name: str, help_text: str, labels: Sequence[str], stability: str) -> None:
        self.name, self.help, self.label_names, self.stability = name, help_text, tuple(labels), stability
        self._children: dict[Labels, C] = {}

    def labels_cached(self, values: Labels) -> C:
        """The child of these label values, in the order of the label names; made on first use.

        Raises:
            ValueError: not as many values as the metric has labels.
        """
        child = self._children.get(values)
        return child if child is not None else self._add(values)

    def remove(self, values: Labels) -> None:
        """Forget a child (its resource is gone). No error if there is none."""
        self._children.pop(values, None)

    def children(self) -> list[tuple[Labels, C]]:
        """All children now, in order of their creation."""
        return list(self._children.items())

    def _new_child(self) -> C:
        raise NotImplementedError

    def _add(self, values: Labels) -> C:
        if len(values) != len(self.label_names):
            raise ValueError(f"metric {self.name}: labels are {self.label_names}, got {values!r}")
        if len(self._children) >= CHILDREN_LIMIT:
            values = ("other",) * len(values)
        return self._children.setdefault(values, self._new_child())


class Counter(Family[CounterChild]):
    """A family of counters; without labels, ``inc`` and ``read_from`` are the one child's."""

    type = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str], stability: str) -> None:
        super().__init__(name, help_text, labels, stability)
        if not labels:
            child = self.labels_cached(())
            self.inc, self.read_from = child.inc, child.read_from

    def _new_child(self) -> CounterChild:
        return CounterChild()


class Gauge(Family[GaugeChild]):
    """A family of gauges; without labels, ``set``, ``inc``, ``dec`` and ``read_from`` are the one child's."""

    type = "gauge"

    def __init__(self, name: str, help_text: str, labels: Sequence[str], stability: str) -> None:
        super().__init__(name, help_text, labels, stability)
        if not labels:
            child = self.labels_cached(())
            self.set, self.inc, self.dec, self.read_from = child.set, child.inc, child.dec, child.read_from

    def _new_child(self) -> GaugeChild:
        return GaugeChild()


class Histogram(Family[HistogramChild]):
    """A family of histograms; ``buckets`` are ascending upper bounds, without infinity; without labels, ``observe``
    is the one child's."""

    type = "histogram"

    def __init__(
        self, name: str, help_text: str, buckets: Sequence[float], labels: Sequence[str], stability: str
    ) -> None:
        super().__init__(name, help_text, labels, stability)
        self.buckets = tuple(float(bound) for bound in buckets)
        if not self.buckets or list(self.buckets) != sorted(set(self.buckets)):
            raise ValueError(f"metric {name}: buckets must ascend and not be empty: {buckets!r}")
        if not labels:
            self.observe = self.labels_cached(()).observe

    def _new_child(self) -> HistogramChild:
        return HistogramChild(self.buckets)


AnyFamily = Counter | Gauge | Histogram


class ForeignCollector(Protocol):
    """Anything that ``prometheus_client`` calls a collector or registry: ``collect()`` yields its Metric values."""

    def collect(self) -> Iterable[object]: ...


class Registry:
    """The families of a process, in order of declaration. A name is declared once."""

    def __init__(self) -> None:
        self._families: dict[str, AnyFamily] = {}
        self._foreign: list[ForeignCollector] = []

    def add(self, family: AnyFamily) -> None:
        """Declare a family.

        Raises:
            ValueError: the name is taken.
        """
        if family.name in self._families:
            raise ValueError(f"metric {family.name} is declared twice")
        self._families[family.name] = family

    def add_foreign(self, collector: ForeignCollector) -> None:
        """Show an embedding program's ``prometheus_client`` collector (or registry) on the same page."""
        self._foreign.append(collector)

    def families(self) -> list[AnyFamily]:
        return list(self._families.values())

    def foreign(self) -> list[ForeignCollector]:
        return list(self._foreign)

    def reset(self) -> None:
        """Count and observe from 0 again. Gauges keep their values: they say what is, and whoever raised one will lower
        it."""
        for family in self._families.values():
            if not isinstance(family, Gauge):
                for _, child in family.children():
                    child.reset()


REGISTRY = Registry()
"""The process's own: metrics are of a process, as the machine's are, however many planes run in it."""


def counter(
    name: str, help_text: str, labels: Sequence[str] = (), *, stability: str = ALPHA, registry: Registry = REGISTRY
) -> Counter:
    """Declare a counter."""
    family = Counter(name, help_text, labels, stability)
    registry.add(family)
    return family


def gauge(
    name: str, help_text: str, labels: Sequence[str] = (), *, stability: str = ALPHA, registry: Registry = REGISTRY
) -> Gauge:
    """Declare a gauge."""
    family = Gauge(name, help_text, labels, stability)
    registry.add(family)
    return family


def histogram(
    name: str,
    help_text: str,
    buckets: Sequence[float],
    labels: Sequence[str] = (),
    *,
    stability: str = ALPHA,
    registry: Registry = REGISTRY,
) -> Histogram:
    """Declare a histogram; ``buckets`` are upper bounds in the unit that the name ends with."""
    family = Histogram(name, help_text, buckets, labels, stability)
    registry.add(family)
    return family
