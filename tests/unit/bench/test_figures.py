"""How figures are judged: as they are, scaled to the targets' machine, or beside another commit's."""

from __future__ import annotations

import json

import pytest

from tests.bench.compare import Outcome
from tests.bench.load import Load
from tests.bench.machine import REFERENCE_CPU_US, factor_of, uneven
from tests.bench.report import Row


def test_a_machine_is_never_taken_for_faster_than_the_targets() -> None:
    assert factor_of(REFERENCE_CPU_US * 3, REFERENCE_CPU_US * 2) == pytest.approx(2.5)
    assert factor_of(REFERENCE_CPU_US / 2) == 1.0
    assert uneven(100, 130)
    assert not uneven(100, 120)


def test_only_rows_that_scale_are_scaled() -> None:
    seconds = Row(name="ready", value=1.0, target=0.5, unit="s", at_most=True, scales=True, factor=2.5)
    rate = Row(name="create", value=100.0, target=200.0, unit="/s", scales=True, factor=2.5)
    memory = Row(name="idle", value=100.0, target=90.0, unit="MB", at_most=True, factor=2.5)
    assert (seconds.judged, rate.judged, memory.judged) == (0.4, 250.0, 100.0)
    assert (seconds.reached, rate.reached, memory.reached) == (True, True, False)


def test_a_scaled_row_shows_both_figures() -> None:
    row = Row(name="ready", value=1.0, target=0.5, unit="s", at_most=True, scales=True, factor=2.5)
    assert "0.400" in row.show()
    assert "(here 1.000, machine x2.50)" in row.show()
    assert json.loads(row.line())["judged"] == 0.4


def test_worse_is_what_is_worse_in_rate_and_in_processor_time() -> None:
    assert not Outcome(90, 100, "/s", ours_cpu_us=110, theirs_cpu_us=100).reached(0.95)
    assert Outcome(90, 100, "/s", ours_cpu_us=100, theirs_cpu_us=100).reached(0.95)
    assert Outcome(110, 100, "/s", ours_cpu_us=110, theirs_cpu_us=100).reached(0.95)
    assert not Outcome(1.2, 1.0, "s", at_most=True).reached(0.95)
    assert "no worse  ready" in Outcome(1.0, 1.0, "s", at_most=True).show("ready", 0.95)


@pytest.mark.parametrize(
    ("op", "line"),
    [
        ("get", "GET /c HTTP/1.1"),
        ("create", "POST /c HTTP/1.1"),
        ("put", "PUT /c/load-1 HTTP/1.1"),
        ("merge", "PATCH /c/load-1 HTTP/1.1"),
        ("apply", "PATCH /c/load-1?fieldManager=load&force=true HTTP/1.1"),
    ],
)
def test_requests_of_a_load(op: str, line: str) -> None:
    load = Load(host="h", port=1, path="/c", op=op, objects=2, encoding="gzip")
    heads = []
    for _ in range(3):
        head, _, body = load.request().decode().partition("\r\n\r\n")
        heads.append(head.splitlines())
        if op != "get":
            assert f"Content-Length: {len(body)}" in head
            assert len(json.loads(body)["data"]["payload"]) == load.size - 300
    assert heads[0][0] == line
    assert "Accept-Encoding: gzip" in heads[0]
    if op in ("put", "merge", "apply"):
        assert heads[2][0] == line, "the objects are changed in turn"
