"""Take a coroutine's first step at once, without a task; only what has to wait becomes one.

Most requests are answered without waiting for anything: a task for each would cost more than its filters.

The first step sees what it would see in a task: a context of its own, and a ``current_task()`` that can be cancelled
(a stand-in, which passes everything on to the real task once there is one). So ``asyncio.timeout`` and task groups may
be entered in it. It differs in one thing: nothing else runs between the call and the first wait.

Python 3.12 has eager tasks of its own; this is the same for 3.11.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextvars import Context, copy_context
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Rest", "first_step"]

T = TypeVar("T")
P = ParamSpec("P")


class _StandIn:
    """What ``current_task()`` is during the first step, and what may be kept of it afterwards."""

    __slots__ = ("__weakref__", "_asked", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._asked = 0

    def become(self, task: asyncio.Task[Any]) -> None:
        """The rest runs in ``task`` from now on; what was asked for before is asked of it."""
        self._task = task
        for _ in range(self._asked):
            task.cancel()

    def cancel(self, msg: object = None) -> bool:
        if self._task is not None:
            return self._task.cancel(msg)
        self._asked += 1
        return True

    def cancelling(self) -> int:
        return self._asked if self._task is None else self._task.cancelling()

    def uncancel(self) -> int:
        if self._task is not None:
            return self._task.uncancel()
        self._asked = max(0, self._asked - 1)
        return self._asked

    def __getattr__(self, name: str) -> Any:
        if self._task is None:
            raise AttributeError(f"the first step of a coroutine has no {name!r} of a task yet")
        return getattr(self._task, name)


class Rest(Generic[T]):
    """What is left of a coroutine that had to wait: await it once, in a task of its own made with ``context``."""

    __slots__ = ("_stand_in", "_steps", "_waited", "context")

    def __init__(self, steps: Iterator[Any], waited: Any, stand_in: _StandIn, context: Context) -> None:
        self._steps, self._waited, self._stand_in, self.context = steps, waited, stand_in, context

    def __await__(self) -> Generator[Any, Any, T]:
        task = asyncio.current_task()
        assert task is not None
        self._stand_in.become(task)
        steps, waited = self._steps, self._waited
        send, throw = getattr(steps, "send", None), getattr(steps, "throw", None)
        while True:
            try:
                sent = yield waited
            except BaseException as error:  # whatever it is, it is the coroutine's
                if throw is None:
                    raise
                try:
                    waited = throw(error)
                except StopIteration as done:
                    return done.value  # type: ignore[no-any-return]  # the coroutine's own result
                continue
            try:
                waited = send(sent) if send is not None else next(steps)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]  # the coroutine's own result


def first_step(function: Callable[P, Awaitable[T]], *args: P.args, **keys: P.kwargs) -> T | Rest[T]:
    """Call ``function`` and run what it returns until it has to wait; the result, or the rest.

    On the loop, outside of any task. Raises what the first step raises.
    """
    loop, stand_in, context = asyncio.get_running_loop(), _StandIn(), copy_context()
    _enter_task(loop, stand_in)  # type: ignore[arg-type]  # it answers to what is asked of a current task
    try:
        steps = context.run(function, *args, **keys).__await__()
        waited = context.run(next, steps)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # the coroutine's own result
    finally:
        _leave_task(loop, stand_in)  # type: ignore[arg-type]
    return Rest(steps, waited, stand_in, context)
