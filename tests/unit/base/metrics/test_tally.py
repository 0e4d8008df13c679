"""What is noted once is counted and observed by all, and never missing where somebody looks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.metrics import Registry, counter, histogram, render, tally
from controlplane.base.metrics.tally import VALUES
from tests.aio import run

BUCKETS = (0.5, 1.0, 2.5)


@given(st.lists(st.sampled_from([0.0, 0.5, 0.6, 1.0, 2.0, 2.5, 99.0]), max_size=3 * VALUES))
def test_what_is_noted_is_what_counting_one_by_one_gives(values: list[float]) -> None:
    registry = Registry()
    requests = counter("requests_total", "Requests.", labels=("verb",), registry=registry).labels_cached(("get",))
    seconds, others = (histogram(f"{name}_seconds", "Time.", BUCKETS, registry=registry) for name in ("one", "two"))
    noted = tally((requests,), (seconds.labels_cached(()), others.labels_cached(())))
    expected = histogram("expected_seconds", "Time.", BUCKETS, registry=Registry())
    for value in values:
        noted.note(value)
        expected.observe(value)
    for each in (seconds, others):
        assert each.labels_cached(()).counts == expected.labels_cached(()).counts
        assert abs(each.labels_cached(()).sum - expected.labels_cached(()).sum) < 1e-6
    assert requests.value == len(values)


def test_a_scrape_shows_what_was_noted_last_and_a_reset_forgets_it() -> None:
    registry = Registry()
    requests = counter("requests_total", "Requests.", registry=registry)
    seconds = histogram("one_seconds", "Time.", BUCKETS, registry=registry)
    noted = tally((requests.labels_cached(()),), (seconds.labels_cached(()),))
    noted.note(0.75)
    page = b"".join(run(render(registry=registry)).pieces).decode()
    assert "requests_total 1\n" in page
    assert 'one_seconds_bucket{le="1"} 1\n' in page
    noted.note(0.75)
    registry.reset()
    page = b"".join(run(render(registry=registry)).pieces).decode()
    assert "requests_total 0\n" in page
    assert "one_seconds_count 0\n" in page


def test_the_same_metrics_have_one_tally() -> None:
    registry = Registry()
    requests = counter("requests_total", "Requests.", labels=("code",), registry=registry)
    seconds = histogram("one_seconds", "Time.", BUCKETS, registry=registry).labels_cached(())
    good, bad = (requests.labels_cached((code,)) for code in ("200", "500"))
    assert tally((good,), (seconds,)) is tally((good,), (seconds,))
    assert tally((good,), (seconds,)) is not tally((bad,), (seconds,))
    tally((good,), (seconds,)).note(1.0)
    tally((bad,), (seconds,)).note(1.0)
    assert (good.value, bad.value, sum(seconds.counts)) == (1, 1, 2)
