"""Work beside the loop: in its caller's context, one at a time, with the loop going on meanwhile."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from contextvars import ContextVar
from time import perf_counter, thread_time

import pytest

from controlplane.base.aside import LONG_BYTES, SWITCH_SECONDS, aside, free, is_long, note_size, release
from tests.aio import run

NAME: ContextVar[str] = ContextVar("name", default="")


def work(seconds: float) -> None:
    """Plain Python that calls nothing that waits."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def test_the_result_comes_back_and_the_context_goes_along() -> None:
    async def scenario() -> tuple[str, int, int]:
        NAME.set("caller")
        return await aside(lambda: (NAME.get(), threading.get_ident(), 1))

    name, thread, _ = run(scenario())
    assert name == "caller"
    assert thread != threading.get_ident()


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(aside(lambda: 1 // 0))


def test_one_at_a_time_in_order() -> None:
    done: list[int] = []
    at_once = most = 0

    def step(number: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        work(0.002)
        done.append(number)
        at_once -= 1

    async def scenario() -> None:
        await asyncio.gather(*(aside(lambda number=number: step(number)) for number in range(8)))  # type: ignore[misc]

    run(scenario())
    assert done == list(range(8))
    assert most == 1


def test_the_interpreter_changes_hands_sooner_meanwhile() -> None:
    before = sys.getswitchinterval()
    assert run(aside(sys.getswitchinterval)) == pytest.approx(SWITCH_SECONDS)
    assert sys.getswitchinterval() == before


def test_nothing_is_collected_meanwhile() -> None:
    assert run(aside(gc.isenabled)) is False
    assert gc.isenabled()


def test_nothing_is_collected_while_something_long_is_in_hand() -> None:
    async def scenario() -> bool:
        note_size(LONG_BYTES)
        await aside(lambda: {"part": [{}]})
        between = gc.isenabled()
        release()
        let_go = threading.Event()
        free([], then=let_go.set)  # after what was long
        assert await asyncio.to_thread(let_go.wait, 10)
        return between

    assert run(scenario()) is False
    assert gc.isenabled()


@pytest.mark.alone
def test_the_loop_goes_on() -> None:
    async def scenario() -> int:
        turns = 0
        begin = perf_counter()
        working = asyncio.ensure_future(aside(lambda: work(0.3)))
        while not working.done():
            await asyncio.sleep(0.001)
            turns += 1
        await working
        assert perf_counter() - begin >= 0.3
        return turns

    assert run(scenario()) > 30  # with the work on the loop: one


def test_the_longest_counts_and_only_for_the_task() -> None:
    async def noted(size_bytes: int) -> bool:
        note_size(size_bytes)
        note_size(1)
        return is_long()

    async def scenario() -> tuple[bool, bool, bool]:
        long, short = asyncio.create_task(noted(LONG_BYTES)), asyncio.create_task(noted(LONG_BYTES - 1))
        return await long, await short, is_long()

    assert run(scenario()) == (True, False, False)


def test_what_was_long_is_freed_part_by_part_and_others_keep_theirs() -> None:
    class Part:
        """Something whose end is seen."""

    async def scenario() -> tuple[dict[str, object], list[object], bool]:
        note_size(LONG_BYTES)
        kept: list[object] = [{"kept": True}]
        ended = threading.Event()
        made = await aside(lambda: {"part": {"inner": [Part()]}, "kept": kept})
        weakref.finalize(made["part"]["inner"][0], ended.set)  # type: ignore[index]
        del made
        assert not ended.is_set()
        release()
        await asyncio.to_thread(ended.wait, 5)
        return {"freed": ended.is_set()}, kept, is_long()

    freed, kept, long = run(scenario())
    assert freed == {"freed": True}
    assert kept == [{"kept": True}]
    assert not long
