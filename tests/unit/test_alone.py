"""Turns of tests: those that are alone, and those side by side."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Event, Thread

from tests.alone import turn


def test_others_are_side_by_side(tmp_path: Path) -> None:
    together = Barrier(2, timeout=10)

    def other() -> None:
        with turn(tmp_path, alone=False):
            together.wait()

    thread = Thread(target=other)
    thread.start()
    with turn(tmp_path, alone=False):
        together.wait()
    thread.join()


def test_one_that_is_alone_waits_for_the_others_and_they_for_it(tmp_path: Path) -> None:
    order: list[str] = []
    alone_waits = Event()

    def alone() -> None:
        alone_waits.set()
        with turn(tmp_path, alone=True):
            order.append("alone")

    def later() -> None:
        with turn(tmp_path, alone=False):
            order.append("later")

    with turn(tmp_path, alone=False):
        first = Thread(target=alone)
        first.start()
        alone_waits.wait(10)
        first.join(0.2)
        assert first.is_alive()
        second = Thread(target=later)
        second.start()
        second.join(0.2)
        assert order == []
    first.join(10)
    second.join(10)
    assert order == ["alone", "later"]
