"""A thread of our own for blocking calls: one queue, in order, answers on the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["OwnedThread"]

T = TypeVar("T")

Job = tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]


class OwnedThread:
    """Runs callables one after another. Started by the first; ``close`` lets it finish what it was given."""

    __slots__ = ("_jobs", "_loop", "_name", "_stopped", "_thread")

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, work: Callable[[], T], done: Callable[[T, BaseException | None], None]) -> None:
        """Run ``work`` in the thread, then ``done(result, error)`` on the loop (``result`` is None with an error).

        Raises:
            RuntimeError: closed already.
        """
        if self._stopped:
            raise RuntimeError(f"thread {self._name!r} is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put((work, done))

    async def call(self, work: Callable[[], T]) -> T:
        """Run ``work`` in the thread and wait for its result or error. If the wait is cancelled, it still runs."""
        future: asyncio.Future[T] = self._loop.create_future()

        def done(result: T, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.submit(work, done)
        return await future

    async def close(self) -> None:
        """Finish what was submitted and end the thread. Idempotent.

        The thread is not joined, which would block the loop: it has nothing left to do when this returns.
        """
        if self._stopped:
            return
        if self._thread is not None:
            await self.call(lambda: None)
            self._jobs.put(None)
        self._stopped = True

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  # the outermost frame of the thread: handed to who asked
                self._answer(done, None, error)
            else:
                self._answer(done, result, None)
            del job, work, done

    def _answer(self, done: Callable[[Any, BaseException | None], None], result: Any, error: Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(done, result, error)
        except RuntimeError:
            # The loop was closed without closing us: nobody is there to answer.
            self._jobs.put(None)
