"""The parts of the migrator that are functions of values, and its pace."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.errors import BadAnswer, ClientError, Unreachable
from controlplane.storagemigration.objects import in_turn, is_terminal, with_condition
from controlplane.storagemigration.pace import Pace
from controlplane.storagemigration.progress import Progress
from controlplane.storagemigration.proof import StoredForm, left_behind, text_of
from controlplane.storagemigration.rewriting import is_passing
from controlplane.testing.clock import FakeClock
from tests.aio import run


def migration(name: str, created: str = "2026-01-01T00:00:00Z") -> Obj:
    return {"metadata": {"name": name, "creationTimestamp": created}}


def test_the_oldest_comes_first_then_the_first_by_name() -> None:
    later = migration("a", "2026-01-01T00:00:01Z")
    assert in_turn([later, migration("c"), migration("b")]) == [migration("b"), migration("c"), later]


def test_a_condition_keeps_its_place_and_its_time_until_its_status_changes() -> None:
    one = with_condition(migration("a"), "Running", "True", "MigrationRunning", "begins", now="t1")
    two = with_condition(one, "Succeeded", "True", "Done", "", now="t2")
    three = with_condition(two, "Running", "True", "MigrationRunning", "half of it", now="t3")
    assert [(c["type"], c["lastTransitionTime"]) for c in three["status"]["conditions"]] == [
        ("Running", "t1"),
        ("Succeeded", "t2"),
    ]
    assert three["status"]["conditions"][0]["message"] == "half of it"
    four = with_condition(three, "Running", "False", "MigrationCompleted", "", now="t4")
    assert four["status"]["conditions"][0]["lastTransitionTime"] == "t4"
    assert is_terminal(four)
    assert "status" not in migration("a")


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (APIError(429, "TooManyRequests", ""), True),
        (APIError(500, "InternalError", ""), True),
        (APIError(503, "ServiceUnavailable", ""), True),
        (APIError(504, "Timeout", ""), True),
        (Unreachable("", sent=True), True),
        (APIError(500, "StorageReadError", ""), False),
        (APIError(409, "Conflict", ""), False),
        (APIError(422, "Invalid", ""), False),
        (BadAnswer(""), False),
    ],
)
def test_what_may_succeed_later(error: APIError | ClientError, passes: bool) -> None:
    assert is_passing(error) is passes


def test_counts_add_up_and_say_how_much_is_left() -> None:
    progress = Progress(GroupResource("example.org", "things"))
    for outcome in ("rewritten", "rewritten", "current", "superseded"):
        progress.count(outcome)
    progress.failed("first")
    progress.failed("second")
    progress.remain(4)
    assert progress.seen == 6
    assert progress.first_failure == "first"
    counts = "2 rewritten, 1 already current, 1 changed or deleted meanwhile, 2 failed"
    assert progress.text() == f"6 of 10 seen: {counts}"
    progress.remain(None)
    assert progress.text() == f"6 seen: {counts}"


def test_what_is_left_behind_is_what_is_known_not_to_be_current() -> None:
    forms = [
        StoredForm("v1", "key1", 5, current=True),
        StoredForm("v1beta1", "", 2, current=False),
        StoredForm("", "aescbc:lost", 1, current=False),
        StoredForm("v1", "", 3, current=None),
    ]
    assert left_behind(forms) == forms[1:3]
    assert text_of(forms) == "5 as v1 under key key1, 2 as v1beta1, 1 unreadable under key aescbc:lost, 3 as v1"
    assert text_of([]) == "nothing"


@pytest.mark.parametrize(("per_second", "elapsed"), [(10.0, 0.4), (0.0, 0.0)])
def test_the_pace_is_kept_by_all_together(per_second: float, elapsed: float) -> None:
    async def main() -> None:
        async with FakeClock(auto_advance=True) as clock:
            pace = Pace(per_second, clock)
            for _ in range(5):
                await pace.turn()
            assert clock.elapsed == pytest.approx(elapsed)

    run(main())


def test_a_pause_does_not_save_up_turns() -> None:
    async def main() -> None:
        async with FakeClock(auto_advance=True) as clock:
            pace = Pace(10.0, clock)
            await clock.sleep(100)
            for _ in range(12):
                await pace.turn()
            assert clock.elapsed == pytest.approx(101.0)

    run(main())
