"""The metrics page: Prometheus text 0.0.4 or OpenMetrics 1.0, rendered in slices so that no scrape holds the loop.

Source: the two formats' specifications; content types and stability marks as kube-apiserver sends them
(prometheus/common ``expfmt/encode.go``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from math import inf, isinf, isnan
from time import perf_counter
from typing import NamedTuple

from controlplane.base.metrics.families import REGISTRY, AnyFamily, Histogram, Registry

__all__ = ["Exposition", "render"]

SLICE_SECONDS = 0.001
"""How long one slice may hold the loop; what is rendered between two looks at the clock takes a few microseconds."""

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_ESCAPING = re.compile(r"escaping=(allow-utf-8|underscores|dots|values)\b")
"""How the client would have names written that the format has no room for. There are none here: whatever is asked for
is what is sent, and without that it is underscores."""


class Exposition(NamedTuple):
    """A rendered page: the body is the pieces one after another."""

    content_type: str
    pieces: list[bytes]


async def render(accept: str = "", *, registry: Registry = REGISTRY) -> Exposition:
    """Render all metrics in the format that the Accept header asks for.

    Counts go on meanwhile: a histogram child is consistent in itself, the page as a whole is not one moment.
    """
    openmetrics = "application/openmetrics-text" in accept
    pieces: list[bytes] = []
    lines: list[str] = []
    began = perf_counter()
    for text in _page(registry, openmetrics=openmetrics):
        lines.append(text)
        if perf_counter() - began > SLICE_SECONDS:
            pieces.append("".join(lines).encode())
            lines.clear()
            await asyncio.sleep(0)
            began = perf_counter()
    if openmetrics:
        lines.append("# EOF\n")
    pieces.append("".join(lines).encode())
    escaping = _ESCAPING.search(accept)
    form = OPENMETRICS_TYPE if openmetrics else TEXT_TYPE
    return Exposition(f"{form}; escaping={escaping[1] if escaping else 'underscores'}", pieces)


def _page(registry: Registry, *, openmetrics: bool) -> Iterator[str]:
    for family in registry.families():
        yield from _family(family, openmetrics=openmetrics)
    foreign = registry.foreign()
    if foreign:
        from controlplane.base.metrics import foreign as foreign_metrics

        for collector in foreign:
            yield from foreign_metrics.texts(collector, openmetrics=openmetrics)


def _family(family: AnyFamily, *, openmetrics: bool) -> Iterator[str]:
    if not family.children():
        return
    name = sample = family.name
    if openmetrics and family.type == "counter":
        name = name.removesuffix("_total")
        sample = name + "_total"
    help_text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        help_text = help_text.replace('"', r"\"")
    yield f"# HELP {name} [{family.stability}] {help_text}\n# TYPE {name} {family.type}\n"
    if isinstance(family, Histogram):
        bounds = [f'le="{_bound(bound, openmetrics=openmetrics)}"' for bound in (*family.buckets, inf)]
        for values, observed in family.children():
            yield _histogram(name, bounds, _labels(family.label_names, values), observed.counts, observed.sum)
        return
    for values, child in family.children():
        labels = _labels(family.label_names, values)
        yield f"{sample}{{{labels}}} {_number(child.value)}\n" if labels else f"{sample} {_number(child.value)}\n"


def _histogram(name: str, bounds: list[str], labels: str, counts: list[int], total: float) -> str:
    head = f"{name}_bucket{{{labels}," if labels else f"{name}_bucket{{"
    lines = []
    cumulative = 0
    for bound, count in zip(bounds, counts, strict=True):
        cumulative += count
        lines.append(f"{head}{bound}}} {cumulative}\n")
    tail = f"{{{labels}}}" if labels else ""
    lines.append(f"{name}_sum{tail} {_number(total)}\n{name}_count{tail} {cumulative}\n")
    return "".join(lines)


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    return ",".join([f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)])


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value


def _bound(bound: float, *, openmetrics: bool) -> str:
    if isinf(bound):
        return "+Inf"
    if bound.is_integer() and abs(bound) < 1e15:
        return f"{int(bound)}.0" if openmetrics else str(int(bound))
    return repr(bound)


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if isnan(value):
        return "NaN"
    return repr(value)
