"""Pauses of the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from controlplane.base.collecting import Pause, Pauses


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_collections_wait_for_the_last_pause() -> None:
    first, second = Pause(), Pause()
    first.end()
    first.end()
    assert not gc.isenabled()
    second.end()
    assert gc.isenabled()


def test_a_pause_that_nobody_has_is_over() -> None:
    pause = Pause()
    assert not gc.isenabled()
    del pause
    assert gc.isenabled()


def test_pauses_that_overlap_without_end_do_not_keep_garbage() -> None:
    pauses = Pauses(longest_seconds=0.0)
    first = Pause(pauses)
    assert not gc.isenabled()
    second = Pause(pauses)
    assert gc.isenabled()
    for pause in (first, second):
        pause.end()
    later = Pause(pauses)
    assert not gc.isenabled(), "all were over, so it begins anew"
    later.end()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    Pause().end()
    assert not gc.isenabled()
