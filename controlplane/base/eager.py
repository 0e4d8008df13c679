"""Take a coroutine's first step at once, without a task; only what has to wait becomes one.

Most requests are answered without waiting for anything: a task for each would cost more than its filters.

The first step sees what it would see in a task: a context of its own, and a ``current_task()`` that can be cancelled
(a stand-in, which passes everything on to the real task once there is one). So ``asyncio.timeout`` and task groups may
be entered in it. It differs in one thing: nothing else runs between the call and the first wait.

Where what it waits for is an ``Awaited``, the next step needs no task either: it is taken where that is fulfilled.

Python 3.12 has eager tasks of its own; the first step is the same for 3.11.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextvars import Context, copy_context
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Awaited", "Rest", "first_step"]

T = TypeVar("T")
P = ParamSpec("P")


class Awaited(asyncio.Future[T]):
    """A future with one waiter, which may be a coroutine without a task: that goes on within ``fulfil`` or ``fail``."""

    follow: Callable[[], None] | None = None
    """What goes on; it lets nothing through."""

    def fulfil(self, result: T) -> None:
        """From the loop, outside of any task. Nothing, if the waiter has been cancelled."""
        if not self.done():
            self.set_result(result)
            follow = self.follow
            if follow is not None:
                self.follow = None
                follow()

    def fail(self, error: BaseException) -> None:
        """As ``fulfil``."""
        if not self.done():
            self.set_exception(error)
            self._go_on()

    def cancel(self, msg: object = None) -> bool:
        """From anywhere: the waiter goes on in a step of its own."""
        if not super().cancel(msg):
            return False
        if self.follow is not None:
            self.get_loop().call_soon(self._go_on)
        return True

    def _go_on(self) -> None:
        follow, self.follow = self.follow, None
        if follow is not None:
            follow()


class Rest(Generic[T]):
    """What is left of a coroutine that had to wait: await it once, in a task of its own made with ``context``; or, if
    ``followed``, take its next step when told.

    It is what ``current_task()`` is during the steps without a task, and what may be kept of that afterwards."""

    __slots__ = ("__weakref__", "_steps", "_task", "_waited", "_waits_for", "asked", "context", "loop", "told")

    _steps: Iterator[Any]
    _waited: Any

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self.loop, self.context = loop, context
        self._task: asyncio.Task[Any] | None = None
        self.asked = self.told = 0  # how often it was cancelled without a task, and how many of these it has seen
        self._waits_for: Awaited[Any] | None = None

    # -- as what is left -------------------------------------------------------------------------------------------

    def followed(self, follow: Callable[[], None]) -> bool:
        """Have ``follow`` called, outside of any task, when the next step can be taken. It lets nothing through. False:
        the rest needs a task."""
        waited = self._waited
        if type(waited) is not Awaited or waited.done() or self.asked > self.told:
            return False
        waited.follow, self._waits_for = follow, waited
        return True

    def next_step(self) -> T | Rest[T]:
        """As ``first_step``, of what is left."""
        loop, self._waits_for = self.loop, None
        if self._waited.cancelled():
            self.told = self.asked  # it is being cancelled as often as was asked for
        _enter_task(loop, self)  # type: ignore[arg-type]  # as in first_step
        try:
            self._waited = self.context.run(next, self._steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # the coroutine's own result
        finally:
            _leave_task(loop, self)  # type: ignore[arg-type]
        return self

    def __await__(self) -> Generator[Any, Any, T]:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        for _ in range(self.asked - self.told):
            task.cancel()
        self.asked = self.told
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

    # -- as a current task -----------------------------------------------------------------------------------------

    def cancel(self, msg: object = None) -> bool:
        """Without a task, what waits is told of it in its next step, which is to come if it is ``followed``."""
        if self._task is not None:
            return self._task.cancel(msg)
        self.asked += 1
        if self._waits_for is not None:
            self._waits_for.cancel(msg)
        return True

    def cancelling(self) -> int:
        return self.asked + (self._task.cancelling() if self._task is not None else 0)

    def uncancel(self) -> int:
        if self.asked:
            self.asked -= 1
            self.told = min(self.told, self.asked)
        elif self._task is not None:
            self._task.uncancel()
        return self.cancelling()

    def __getattr__(self, name: str) -> Any:
        if self._task is None:
            raise AttributeError(f"the first step of a coroutine has no {name!r} of a task yet")
        return getattr(self._task, name)


def first_step(function: Callable[P, Awaitable[T]], *args: P.args, **keys: P.kwargs) -> T | Rest[T]:
    """Call ``function`` and run what it returns until it has to wait; the result, or the rest.

    On the loop, outside of any task. Raises what the first step raises.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    rest: Rest[T] = Rest(loop, context)
    _enter_task(loop, rest)  # type: ignore[arg-type]  # it answers to what is asked of a current task
    try:
        steps = context.run(function, *args, **keys).__await__()
        waited = context.run(next, steps)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # the coroutine's own result
    finally:
        _leave_task(loop, rest)  # type: ignore[arg-type]
    rest._steps, rest._waited = steps, waited  # noqa: SLF001  # known now, and to nobody else
    return rest
