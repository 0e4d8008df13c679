"""The metrics page is what Prometheus' own parsers read, and no scrape holds the loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import prometheus_client
import pytest
from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from controlplane.base import metrics
from controlplane.base.lag import LagMonitor
from controlplane.base.metrics import families
from tests.aio import run

parse_text: Callable[[str], Iterable[prometheus_client.Metric]] = text_parser.text_string_to_metric_families
parse_openmetrics: Callable[[str], Iterable[prometheus_client.Metric]] = (
    openmetrics_parser.text_string_to_metric_families
)

OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1"


@pytest.fixture
def registry() -> metrics.Registry:
    registry = metrics.Registry()
    requests = metrics.counter("requests_total", "Requests.", ("verb", "path"), registry=registry)
    requests.labels_cached(("get", 'a"b\\c\nd')).inc(3)
    metrics.gauge("depth", 'Depth of "it".\nNow.', stability=metrics.STABLE, registry=registry).set(2.5)
    seconds = metrics.histogram("seconds", "Seconds.", (0.1, 1, 2.5), ("verb",), registry=registry)
    for value in (0.1, 0.11, 7.0):
        seconds.labels_cached(("get",)).observe(value)
    metrics.counter("unused_total", "Never counted.", ("verb",), registry=registry)
    return registry


def page(registry: metrics.Registry, accept: str = "") -> tuple[str, str]:
    exposition = run(metrics.render(accept, registry=registry))
    return exposition.content_type, b"".join(exposition.pieces).decode()


def samples(families_read: Iterable[prometheus_client.Metric]) -> dict[str, float]:
    return {f"{s.name}{sorted(s.labels.items())}": s.value for family in families_read for s in family.samples}


EXPECTED = {
    "requests_total[('path', 'a\"b\\\\c\\nd'), ('verb', 'get')]": 3,
    "depth[]": 2.5,
    "seconds_bucket[('le', '0.1'), ('verb', 'get')]": 1,
    "seconds_bucket[('le', '1'), ('verb', 'get')]": 2,
    "seconds_bucket[('le', '2.5'), ('verb', 'get')]": 2,
    "seconds_bucket[('le', '+Inf'), ('verb', 'get')]": 3,
    "seconds_sum[('verb', 'get')]": 0.1 + 0.11 + 7.0,
    "seconds_count[('verb', 'get')]": 3,
}


def test_the_text_page_reads_back(registry: metrics.Registry) -> None:
    content_type, text = page(registry)
    assert content_type.startswith("text/plain; version=0.0.4")
    assert samples(parse_text(text)) == EXPECTED
    assert '# HELP depth [STABLE] Depth of "it".\\nNow.\n# TYPE depth gauge\n' in text
    assert "unused" not in text


def test_the_openmetrics_page_reads_back(registry: metrics.Registry) -> None:
    content_type, text = page(registry, OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert samples(parse_openmetrics(text)) == {k.replace("'1')", "'1.0')"): v for k, v in EXPECTED.items()}
    assert text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
        ("application/json", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
        ("text/plain; escaping=allow-utf-8", "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8"),
        ("text/plain; escaping=none", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"),
    ],
)
def test_the_type_says_how_names_are_escaped(registry: metrics.Registry, accept: str, content_type: str) -> None:
    assert page(registry, accept)[0] == content_type


def test_a_name_is_declared_once(registry: metrics.Registry) -> None:
    with pytest.raises(ValueError, match="metric depth is declared twice"):
        metrics.gauge("depth", "Again.", registry=registry)


def test_label_values_must_be_complete(registry: metrics.Registry) -> None:
    family = metrics.counter("x_total", "X.", ("a", "b"), registry=registry)
    with pytest.raises(ValueError, match=r"metric x_total: labels are \('a', 'b'\), got \('1',\)"):
        family.labels_cached(("1",))


@pytest.mark.parametrize("buckets", [(), (1, 1), (2, 1)])
def test_buckets_must_ascend(buckets: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="buckets must ascend"):
        metrics.histogram("h", "H.", buckets, registry=metrics.Registry())


def test_children_are_kept_and_can_be_forgotten(registry: metrics.Registry) -> None:
    family = metrics.gauge("x", "X.", ("a",), registry=registry)
    child = family.labels_cached(("1",))
    assert family.labels_cached(("1",)) is child
    family.remove(("1",))
    assert family.children() == []


def test_label_combinations_are_capped(registry: metrics.Registry) -> None:
    family = metrics.counter("x_total", "X.", ("a",), registry=registry)
    for number in range(families.CHILDREN_LIMIT + 10):
        family.labels_cached((str(number),)).inc()
    children = dict(family.children())
    assert len(children) == families.CHILDREN_LIMIT + 1
    assert children["other",].value == 10


def test_a_gauge_can_be_read_at_each_scrape(registry: metrics.Registry) -> None:
    metrics.gauge("live", "Live.", registry=registry).read_from(lambda: 42)
    assert "\nlive 42\n" in page(registry)[1]


def test_foreign_collectors_appear_on_the_page(registry: metrics.Registry) -> None:
    foreign = prometheus_client.CollectorRegistry()
    prometheus_client.Counter("embedded_things", "Theirs.", registry=foreign).inc(2)
    registry.add_foreign(foreign)
    assert samples(parse_text(page(registry)[1]))["embedded_things_total[]"] == 2
    assert samples(parse_openmetrics(page(registry, OPENMETRICS)[1]))["embedded_things_total[]"] == 2


@pytest.mark.alone
def test_a_scrape_of_300_histograms_does_not_hold_the_loop() -> None:
    registry = metrics.Registry()
    for number in range(30):
        family = metrics.histogram(f"h{number}", "H.", [n / 10 for n in range(1, 31)], ("r",), registry=registry)
        for child in range(10):
            family.labels_cached((f"r{child}",)).observe(0.5)

    async def scenario() -> tuple[float, int]:
        async with LagMonitor(interval_seconds=0) as lag:
            await asyncio.sleep(0)
            lag.reset()
            exposition = await metrics.render(registry=registry)
            return lag.longest_seconds, sum(piece.count(b"\n") for piece in exposition.pieces)

    attempts = [run(scenario()) for _ in range(5)]
    assert attempts[0][1] == 30 * 2 + 300 * 33
    assert min(longest for longest, _ in attempts) < 0.005


def test_the_process_tells_of_itself() -> None:
    read = samples(parse_text(page(metrics.REGISTRY)[1]))
    assert 0 < read["process_cpu_seconds_total[]"] < 10_000
    assert 10e6 < read["process_resident_memory_bytes[]"] < read["process_virtual_memory_bytes[]"]
    assert 2 < read["process_open_fds[]"] < read["process_max_fds[]"]
    assert 0 <= time.time() - read["process_start_time_seconds[]"] < 3600
