"""What runs when the server has begun to listen, and what runs before it stops.

Post-start hooks run side by side; each is a health check (``poststarthook/NAME``) until it has finished, and one that
fails ends the server. What should go on after a hook has finished is started through its context. Pre-shutdown hooks
run side by side too, while the server still answers.

Source: behaviour of kubernetes/apiserver ``pkg/server/hooks.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.server.health import HealthCheck
from controlplane.base import logs
from controlplane.base.tasks import Owner
from controlplane.client.loopback import LoopbackClient

__all__ = ["HookContext", "Hooks", "PostStartHook", "PreShutdownHook"]

log = logs.get(__name__)


class HookContext:
    """What a post-start hook may use: clients of this server, and tasks that live until it stops."""

    def __init__(self, loopback: Callable[[UserInfo], LoopbackClient], owner: Owner) -> None:
        self.loopback, self._owner = loopback, owner

    def start(self, coro: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run a task until the server stops; its failure ends the server."""
        return self._owner.start(coro, name=name)


PostStartHook = Callable[[HookContext], Awaitable[None]]
PreShutdownHook = Callable[[], Awaitable[None]]


class Hooks:
    """The hooks of one server. Adding ends with ``seal``."""

    def __init__(self, *, disabled: frozenset[str] = frozenset()) -> None:
        self._disabled, self._sealed = disabled, False
        self._post_start: dict[str, tuple[PostStartHook, str]] = {}
        self._pre_shutdown: dict[str, tuple[PreShutdownHook, str]] = {}
        self._finished: set[str] = set()
        self._all_finished = asyncio.Event()

    def add_post_start(self, name: str, hook: PostStartHook, *, by: str) -> None:
        """Add a hook; ``by`` names who adds it. One that is disabled by name is left out.

        Raises:
            ValueError: the name is taken, or the server is prepared already.
        """
        self._check(name, self._post_start, "post-start", by)
        if name not in self._disabled:
            self._post_start[name] = (hook, by)

    def add_pre_shutdown(self, name: str, hook: PreShutdownHook, *, by: str) -> None:
        """Add a hook; raises as ``add_post_start``."""
        self._check(name, self._pre_shutdown, "pre-shutdown", by)
        self._pre_shutdown[name] = (hook, by)

    def seal(self) -> None:
        """Take no more hooks."""
        self._sealed = True

    def checks(self) -> list[HealthCheck]:
        """One health check a post-start hook."""
        return [HealthCheck(f"poststarthook/{name}", self._probe(name)) for name in self._post_start]

    def start(self, context: HookContext, owner: Owner) -> None:
        """Run the post-start hooks, as tasks of ``owner``."""
        self._look()
        for name, (hook, _) in self._post_start.items():
            owner.start(self._run(name, hook, context), name=f"poststarthook/{name}")

    async def finished(self) -> None:
        """Wait until all post-start hooks have finished."""
        await self._all_finished.wait()

    def abandon(self) -> None:
        """Run no pre-shutdown hooks: the server ends as if its process had been killed."""
        self._pre_shutdown.clear()

    async def shut_down(self) -> None:
        """Run the pre-shutdown hooks. A failure is logged; the shutdown goes on, since nobody is left to mend it."""
        outcomes = await asyncio.gather(*(hook() for hook, _ in self._pre_shutdown.values()), return_exceptions=True)
        for name, outcome in zip(self._pre_shutdown, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                log.error("pre-shutdown hook failed", hook=name, exc_info=outcome)

    async def _run(self, name: str, hook: PostStartHook, context: HookContext) -> None:
        try:
            await hook(context)
        except Exception as error:
            raise RuntimeError(f"post-start hook {name!r} failed: {error}") from error
        self._finished.add(name)
        self._look()
        log.debug("post-start hook finished", hook=name)

    def _look(self) -> None:
        if self._finished.issuperset(self._post_start):
            self._all_finished.set()

    def _probe(self, name: str) -> Callable[[], str | None]:
        return lambda: None if name in self._finished else "not finished"

    def _check(self, name: str, hooks: dict[str, tuple[Any, str]], kind: str, by: str) -> None:
        if self._sealed:
            raise ValueError(f"{kind} hook {name!r} (by {by}) comes too late: the server is prepared already")
        if name in hooks:
            raise ValueError(f"{kind} hook {name!r} is registered twice: by {hooks[name][1]} and by {by}")
