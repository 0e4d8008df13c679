"""Observations that always come together, noted by one call.

A request that is counted and timed by five metrics pays more for the calls than for what they measure. So what every
request passes notes one number, and hands many on at once: when there are enough of them, or when one of the metrics is
about to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controlplane.base.metrics.families import CounterChild, HistogramChild

__all__ = ["Tally", "tally"]

VALUES: Final = 64
"""What is held at most: 2 KB."""


class Tally:
    """What is noted is counted by the counters and observed by the histograms. Made by ``tally``. To be used on the
    loop; the metrics may be read from anywhere."""

    __slots__ = ("_values", "counters", "histograms")

    def __init__(self, counters: tuple[CounterChild, ...], histograms: tuple[HistogramChild, ...]) -> None:
        self.counters, self.histograms = counters, histograms
        self._values: list[float] = []

    def note(self, value: float) -> None:
        values = self._values
        values.append(value)
        if len(values) >= VALUES:
            self.settle()

    def settle(self) -> None:
        """Hand on what has been noted."""
        values, self._values = self._values, []
        if values:
            for counter in self.counters:
                counter.inc(len(values))
            for histogram in self.histograms:
                histogram.observe_all(values)


def tally(counters: Sequence[CounterChild], histograms: Sequence[HistogramChild]) -> Tally:
    """The tally of these; there is one for those who are the same."""
    made = Tally(tuple(counters), tuple(histograms))
    members: tuple[CounterChild | HistogramChild, ...] = (*counters, *histograms)
    for known in members[0].tallies:
        if isinstance(known, Tally) and (known.counters, known.histograms) == (made.counters, made.histograms):
            return known
    for member in members:
        member.tallies = (*member.tallies, made)
    return made
