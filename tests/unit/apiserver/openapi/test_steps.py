"""Work in steps, and what takes longer beside the loop."""

from __future__ import annotations

import threading

import pytest

from controlplane.apiserver.openapi.steps import Steps, at_once, in_slices
from tests.aio import run


def work(places: list[int]) -> Steps[str]:
    places.append(threading.get_ident())
    yield None
    made = yield lambda: _made(places)
    yield None
    return f"{made} and used"


def _made(places: list[int]) -> str:
    places.append(threading.get_ident())
    return "made"


def failing() -> Steps[str]:
    yield lambda: 1 // 0
    return "never"


def test_what_takes_longer_is_done_in_a_thread_and_given_back() -> None:
    places: list[int] = []
    assert run(in_slices(work(places))) == "made and used"
    assert places[0] == threading.get_ident() != places[1]


def test_without_a_break_all_is_done_at_once() -> None:
    places: list[int] = []
    assert at_once(work(places)) == "made and used"
    assert set(places) == {threading.get_ident()}


def test_what_fails_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(in_slices(failing()))
    with pytest.raises(ZeroDivisionError):
        at_once(failing())
