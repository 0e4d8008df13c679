"""The first step of a coroutine, and its rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from controlplane.base.eager import Awaited, Rest, first_step
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


class Followed:
    """A coroutine that is gone on with in steps, without a task as long as that can be. ``told``: what came of each."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, str]]) -> None:
        self.told: list[object] = []
        self.rest = first_step(function)
        self._follow()

    def _follow(self) -> None:
        assert isinstance(self.rest, Rest)
        assert self.rest.followed(self._go_on)

    def _go_on(self) -> None:
        assert isinstance(self.rest, Rest)
        try:
            outcome = self.rest.next_step()
        except BaseException as error:  # noqa: BLE001  # it is the test's
            self.told.append(error)
            return
        self.told.append(outcome)


def awaited() -> Awaited[str]:
    return Awaited(loop=asyncio.get_running_loop())


def test_what_is_awaited_is_gone_on_with_where_it_comes() -> None:
    def steps() -> list[object]:
        first, second = awaited(), awaited()

        async def wait() -> str:
            COLOUR.set("red")
            task = asyncio.current_task()
            text = await first + await second
            return f"{text} {COLOUR.get()} {asyncio.current_task() is task}"

        followed = Followed(wait)
        first.fulfil("one ")
        assert followed.told == [followed.rest], "it waits again"
        followed._follow()
        second.fulfil("two")
        assert COLOUR.get() == "none"
        return followed.told[1:]

    assert run(in_callback(steps)) == ["one two red True"]


def test_its_failure_comes_to_the_coroutine() -> None:
    def steps() -> list[object]:
        answer = awaited()

        async def wait() -> str:
            try:
                return await answer
            except LookupError as error:
                return f"caught {error}"

        followed = Followed(wait)
        answer.fail(LookupError("x"))
        answer.fulfil("late")
        return followed.told

    assert run(in_callback(steps)) == ["caught x"]


def test_what_a_later_step_raises_is_raised() -> None:
    def steps() -> list[object]:
        answer = awaited()

        async def wait() -> str:
            raise LookupError(await answer)

        followed = Followed(wait)
        answer.fulfil("on purpose")
        return followed.told

    (error,) = run(in_callback(steps))
    assert isinstance(error, LookupError)


def test_cancelled_without_a_task_it_is_told_in_a_step_of_its_own() -> None:
    async def scenario() -> None:
        current: list[asyncio.Task[Any]] = []

        async def wait() -> str:
            task = asyncio.current_task()
            assert task is not None
            current.append(task)
            try:
                return await answer
            except asyncio.CancelledError:
                return f"cancelled, {task.cancelling()} and {task.uncancel()} left"

        answer = awaited()
        followed = await in_callback(lambda: Followed(wait))
        assert current[0].cancel()
        answer.fulfil("too late")
        assert followed.told == []
        await asyncio.sleep(0)
        assert followed.told == ["cancelled, 1 and 0 left"]

    run(scenario())


def test_what_was_told_of_its_cancellation_is_not_told_again_as_a_task() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            try:
                return await answer
            except asyncio.CancelledError:
                await asyncio.sleep(0.001)
                task = asyncio.current_task()
                assert task is not None
                return f"cleaned up, {task.cancelling()} left"

        answer = awaited()
        followed = await in_callback(lambda: Followed(wait))
        followed.rest.cancel()
        await asyncio.sleep(0)
        (rest,) = followed.told
        assert not rest.followed(lambda: None), "it waits for something else"

        async def go_on() -> object:
            return await rest

        assert await asyncio.get_running_loop().create_task(go_on(), context=rest.context) == "cleaned up, 0 left"

    run(scenario())


def test_what_was_cancelled_in_its_first_step_needs_a_task() -> None:
    async def scenario() -> None:
        async def wait() -> str:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return await answer

        answer = awaited()
        rest = await in_callback(lambda: first_step(wait))
        assert isinstance(rest, Rest)
        assert not rest.followed(lambda: None)

        async def go_on() -> str:
            result: str = await rest
            return result

        with pytest.raises(asyncio.CancelledError):
            await asyncio.get_running_loop().create_task(go_on(), context=rest.context)

    run(scenario())


def test_a_task_can_wait_for_it_as_well() -> None:
    async def scenario() -> None:
        answer = awaited()

        async def wait() -> str:
            return await answer

        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        answer.fulfil("x")
        assert await waiting == "x"

    run(scenario())
