"""The first step of a coroutine, and its rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from controlplane.base.eager import Rest, first_step
from controlplane.base.tasks import TaskGroup
from tests.aio import run

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


async def in_callback(work: Callable[[], Any]) -> Any:
    """Call ``work`` from the loop itself, where no task is."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def call() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # it is the test's
            done.set_exception(error)

    loop.call_soon(call)
    return await done


async def begin(function: Callable[[], Coroutine[Any, Any, str]]) -> asyncio.Task[str]:
    """Take the first step, which must not be all, and make a task of the rest."""
    rest = await in_callback(lambda: first_step(function))
    assert isinstance(rest, Rest)

    async def go_on() -> str:
        result: str = await rest
        return result

    return asyncio.get_running_loop().create_task(go_on(), context=rest.context)


def test_what_does_not_wait_is_done_at_once() -> None:
    async def answer(text: str) -> str:
        return text

    assert run(in_callback(lambda: first_step(answer, "now"))) == "now"


def test_what_the_first_step_raises_is_raised() -> None:
    async def fail() -> None:
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        run(in_callback(lambda: first_step(fail)))


def test_rest_goes_on_where_it_waited() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()

        async def wait() -> str:
            await asyncio.sleep(0)
            await gate.wait()
            await asyncio.sleep(0.001)
            return "after"

        task = await begin(wait)
        gate.set()
        assert await task == "after"

    run(scenario())


def test_rest_raises_what_the_coroutine_raises() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            await asyncio.sleep(0)
            raise LookupError("later")

        with pytest.raises(LookupError, match="later"):
            await (await begin(wait))

    run(scenario())


def test_error_of_what_is_awaited_comes_to_the_coroutine() -> None:
    async def scenario() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def wait() -> str:
            try:
                await future
            except LookupError as error:
                await asyncio.sleep(0)
                return f"caught {error}"
            return ""

        task = await begin(wait)
        future.set_exception(LookupError("x"))
        assert await task == "caught x"

    run(scenario())


def test_cancelling_the_task_cancels_the_coroutine() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "told"
            return ""

        task = await begin(wait)
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "told"

    run(scenario())


def test_timeout_entered_in_the_first_step_ends_the_wait() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            try:
                async with asyncio.timeout(0.005):
                    await asyncio.Event().wait()
            except TimeoutError:
                task = asyncio.current_task()
                assert task is not None
                return f"in time, {task.cancelling()} cancellations left"
            return ""

        assert await (await begin(wait)) == "in time, 0 cancellations left"

    run(scenario())


def test_timeout_that_is_over_already() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            try:
                async with asyncio.timeout(-1):
                    await asyncio.Event().wait()
            except TimeoutError:
                return "at once"
            return ""

        assert await (await begin(wait)) == "at once"

    run(scenario())


def test_cancellation_before_the_task_runs_is_kept() -> None:
    async def scenario() -> None:
        current: list[asyncio.Task[Any]] = []

        async def wait() -> str:
            task = asyncio.current_task()
            assert task is not None
            current.append(task)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return f"cancelled, {current[0].uncancel()} left"
            return ""

        task = await begin(wait)
        assert current[0].cancel()
        assert current[0].cancelling() == 1
        assert await task == "cancelled, 0 left"
        assert current[0].done()

    run(scenario())


def test_task_group_entered_in_the_first_step() -> None:
    async def scenario() -> None:
        async def fail() -> None:
            raise LookupError("from a child")

        async def wait() -> str:
            try:
                async with TaskGroup("group") as group:
                    group.start(fail(), name="fail")
                    await asyncio.Event().wait()
            except LookupError as error:
                return str(error)
            return ""

        assert await (await begin(wait)) == "from a child"

    run(scenario())


def test_context_is_of_its_own_and_kept() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            COLOUR.set("red")
            await asyncio.sleep(0)
            return COLOUR.get()

        task = await begin(wait)
        assert COLOUR.get() == "none"
        assert await task == "red"

    run(scenario())


def test_any_awaitable_will_do() -> None:
    async def scenario() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        rest = await in_callback(lambda: first_step(lambda: future))
        assert isinstance(rest, Rest)
        future.set_result("done")

        async def go_on() -> str:
            result: str = await rest
            return result

        assert await asyncio.get_running_loop().create_task(go_on()) == "done"

    run(scenario())
