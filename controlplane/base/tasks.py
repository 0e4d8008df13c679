"""Owned tasks: every task has somebody who cancels it, waits for it and hears of its failure.

``TaskGroup`` for tasks that live inside one block; ``Owner`` for objects with a start and a close. Nothing else in
the project calls ``create_task``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context
from types import TracebackType
from typing import Any, Self, TypeVar

from controlplane.base import logs

__all__ = ["Owner", "TaskGroup", "cancel_and_wait"]

T = TypeVar("T")

log = logs.get(__name__)


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until all have ended, whatever they raise (that is their owner's to read).

    Cancellation of the caller is kept until they have ended, then raised.
    """
    pending = {task for task in tasks if not task.done() and task is not asyncio.current_task()}
    for task in pending:
        if not task.cancelling():  # once is enough: a second time would break off its clean-up
            task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
            pending = {task for task in pending if not task.done()}
    if cancelled is not None:
        raise cancelled


class _Refused(RuntimeError):
    """A task was to be started where none may be."""


class TaskGroup:
    """Tasks of one block: ``async with TaskGroup("mirror") as group: group.start(follow(), name="follow")``.

    Leaving the block cancels the tasks and waits for them. The first task that fails cancels the block and the other
    tasks, and its own error is raised from the block, unless the block has raised one itself. Further failures are
    logged.
    """

    def __init__(self, name: str = "group") -> None:
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()
        self._parent: asyncio.Task[Any] | None = None
        self._error: BaseException | None = None
        self._interrupted = False
        self._leaving = False

    def start(self, coro: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run ``coro`` as a task of the group.

        Raises:
            RuntimeError: the block has not been entered, is being left, or one of its tasks has failed.
        """
        if self._parent is None or self._leaving or self._error is not None:
            coro.close()
            raise _Refused(f"task group {self._name!r} takes no tasks now; refused {name!r}")
        task = asyncio.get_running_loop().create_task(coro, name=f"{self._name}.{name}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def __aenter__(self) -> Self:
        if self._parent is not None:
            raise RuntimeError(f"task group {self._name!r} is entered twice")
        self._parent = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving = True
        cancelled = error if isinstance(error, asyncio.CancelledError) else None
        if self._interrupted and self._parent is not None:
            if cancelled is None:  # our own cancellation of the block has not reached it yet: take it here
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError as late:
                    cancelled = late
            if self._parent.uncancel() == 0:  # nobody else cancelled it
                cancelled = None
        await cancel_and_wait(self._tasks)
        if self._error is None:
            return
        if error is not None and not isinstance(error, (asyncio.CancelledError, _Refused)):
            _log_failure(self._name, self._error)
            return
        if cancelled is not None:
            _log_failure(self._name, self._error)
            raise cancelled
        try:
            raise self._error
        finally:
            self._error = None  # no cycle through the traceback

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if self._error is not None:
            _log_failure(task.get_name(), error)
            return
        self._error = error
        for other in self._tasks:
            if not other.cancelling():
                other.cancel()
        if not self._leaving and self._parent is not None:
            self._interrupted = True
            self._parent.cancel()


class Owner:
    """Tasks of one object, from ``start`` to ``close``.

    ``on_failure`` hears the first failure, once, on the loop (what to do is its decision: the other tasks go on);
    without it, as any further one, it is logged.
    """

    def __init__(self, name: str, *, on_failure: Callable[[BaseException], None] | None = None) -> None:
        self._name = name
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(self, coro: Coroutine[Any, Any, T], *, name: str, context: Context | None = None) -> asyncio.Task[T]:
        """Run ``coro`` as an owned task; ``context``: its context, by default a copy of the caller's.

        Raises:
            RuntimeError: closed already.
        """
        if self._closed:
            coro.close()
            raise RuntimeError(f"{self._name!r} is closed; refused task {name!r}")
        task = asyncio.get_running_loop().create_task(coro, name=f"{self._name}.{name}", context=context)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel all tasks and wait for them (not for the caller, if it is one of them). Idempotent."""
        self._closed = True
        await cancel_and_wait(self._tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        callback, self._on_failure = self._on_failure, None
        if callback is not None:
            callback(error)
        else:
            _log_failure(task.get_name(), error)


def _log_failure(task: str, error: BaseException) -> None:
    log.error("task failed", task=task, error=error, exc_info=error)
