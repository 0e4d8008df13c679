"""Owned tasks: who is cancelled, who is waited for, which error is raised."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.base.tasks import Owner, TaskGroup
from tests.aio import run


class Boom(Exception):
    pass


async def boom() -> None:
    raise Boom("first")


async def forever(ended: list[str], name: str) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        ended.append(name)


def test_leaving_a_group_cancels_its_tasks_and_waits_for_them() -> None:
    async def scenario() -> list[str]:
        ended: list[str] = []
        async with TaskGroup() as group:
            group.start(forever(ended, "a"), name="a")
            group.start(forever(ended, "b"), name="b")
            await asyncio.sleep(0)
        return ended

    assert sorted(run(scenario())) == ["a", "b"]


def test_a_failing_task_cancels_the_block_and_the_others_and_its_own_error_is_raised() -> None:
    async def block(ended: list[str]) -> None:
        async with TaskGroup() as group:
            group.start(forever(ended, "other"), name="other")
            await asyncio.sleep(0)
            group.start(boom(), name="boom")
            await asyncio.Event().wait()

    async def scenario() -> None:
        ended: list[str] = []
        with pytest.raises(Boom, match="first"):
            await block(ended)
        assert ended == ["other"]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # no cancellation is left over

    run(scenario())


def test_a_failure_as_the_block_ends_is_raised_and_leaves_no_cancellation_behind() -> None:
    async def block() -> None:
        async with TaskGroup() as group:
            task = group.start(boom(), name="boom")
            done = asyncio.get_running_loop().create_future()
            task.add_done_callback(lambda _: done.set_result(None))
            await done  # the block is woken by this in the turn in which it is cancelled

    async def scenario() -> None:
        with pytest.raises(Boom):
            await block()
        await asyncio.sleep(0)

    run(scenario())


def test_an_error_of_the_block_wins_and_the_tasks_end() -> None:
    async def block(ended: list[str]) -> None:
        async with TaskGroup() as group:
            group.start(forever(ended, "a"), name="a")
            await asyncio.sleep(0)
            raise ValueError("mine")

    async def scenario() -> None:
        ended: list[str] = []
        with pytest.raises(ValueError, match="mine"):
            await block(ended)
        assert ended == ["a"]

    run(scenario())


def test_cancellation_from_outside_is_passed_on_after_the_tasks_ended() -> None:
    async def scenario() -> None:
        ended: list[str] = []
        entered = asyncio.Event()

        async def block() -> None:
            async with TaskGroup() as group:
                group.start(forever(ended, "a"), name="a")
                await asyncio.sleep(0)
                entered.set()
                await asyncio.Event().wait()

        async with TaskGroup() as outer:
            task = outer.start(block(), name="block")
            await entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert ended == ["a"]

    run(scenario())


def test_a_group_refuses_tasks_after_a_failure_and_outside_its_block() -> None:
    async def scenario() -> None:
        group = TaskGroup("mirror")
        with pytest.raises(RuntimeError, match="'mirror' takes no tasks now; refused 'late'"):
            group.start(boom(), name="late")
        async with group:
            pass
        with pytest.raises(RuntimeError):
            group.start(boom(), name="late")

    run(scenario())


def test_a_start_after_a_failure_does_not_hide_the_failure() -> None:
    async def block() -> None:
        async with TaskGroup() as group:
            task = group.start(boom(), name="boom")
            while not task.done():
                try:
                    await asyncio.wait([task])
                except asyncio.CancelledError:
                    group.start(boom(), name="late")

    async def scenario() -> None:
        with pytest.raises(Boom, match="first"):
            await block()

    run(scenario())


def test_tasks_carry_the_groups_name() -> None:
    async def scenario() -> str:
        async with TaskGroup("mirror") as group:
            return group.start(forever([], "x"), name="follow").get_name()

    assert run(scenario()) == "mirror.follow"


def test_an_owner_hears_of_the_first_failure_once_and_its_other_tasks_go_on() -> None:
    async def scenario() -> None:
        heard: list[BaseException] = []
        owner = Owner("mirror", on_failure=heard.append)
        ended: list[str] = []
        steady = owner.start(forever(ended, "steady"), name="steady")
        await asyncio.wait([owner.start(boom(), name="one"), owner.start(boom(), name="two")])
        await asyncio.sleep(0)
        assert [str(e) for e in heard] == ["first"]
        assert not steady.done()
        await owner.close()
        await owner.close()
        assert ended == ["steady"]
        with pytest.raises(RuntimeError, match="'mirror' is closed; refused task 'late'"):
            owner.start(boom(), name="late")

    run(scenario())


def test_a_failure_nobody_listens_to_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        owner = Owner("mirror")
        await asyncio.wait([owner.start(boom(), name="one")])
        await owner.close()

    run(scenario())
    (record,) = caplog.records
    assert record.getMessage() == "task failed"
    assert record.exc_info is not None


def test_an_owners_task_may_close_its_owner() -> None:
    async def scenario() -> None:
        ended: list[str] = []
        owner = Owner("server")
        owner.start(forever(ended, "other"), name="other")
        await asyncio.sleep(0)
        await owner.start(owner.close(), name="closer")
        assert ended == ["other"]

    run(scenario())
