"""The admission chain: the plugins that are on, in their order, sorted by what they handle.

What is to be called for an operation on a resource is worked out once and kept until a plugin's configuration changes:
a request that nobody cares for costs one look-up a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from controlplane.apimachinery.identity import GVR
from controlplane.apiserver.admission.api import Attributes, Hook, Hooks, Operation, Reinvocation
from controlplane.apiserver.admission.metrics import Outcomes, plugin_seconds, step_seconds
from controlplane.base.metrics import Tally, tally

__all__ = ["EMPTY", "Chain"]

_REMEMBERED_PLANS = 4096
"""Resources come and go; the plans of all are forgotten together."""


class _Step(NamedTuple):
    """One hook, and where its time is noted."""

    hook: Hook
    seconds: Outcomes


class _Plan(NamedTuple):
    """What is called for one operation on one resource and subresource. ``shortcut``: of the only hook, if it has
    one: what may be asked in its stead, and where the time of that is noted."""

    steps: tuple[_Step, ...]
    seconds: Outcomes
    shortcut: tuple[Callable[[Operation, str], bool], Tally] | None = None

    async def run(self, attributes: Attributes) -> None:
        """Call the hooks in order. Raises as they do."""
        began = at = perf_counter()
        seconds = self.seconds
        try:
            for hook, seconds in self.steps:
                await hook(attributes)
                now = perf_counter()
                seconds.accepted.observe(now - at)
                at = now
        except BaseException:
            now = perf_counter()
            seconds.rejected.observe(now - at)
            self.seconds.rejected.observe(now - began)
            raise
        self.seconds.accepted.observe(at - began)


_Key = tuple[Operation, GVR, str]


class Chain:
    """Runs hooks in order. Plugins are added while it is put together.

    ``mutates`` and ``validates`` tell whether a phase has anything to do, so that callers need not even build
    attributes for it.
    """

    __slots__ = ("_mutating", "_plugins", "_validating")

    def __init__(self, plugins: Sequence[tuple[str, Hooks]] = ()) -> None:
        self._plugins = list(plugins)
        self._mutating: dict[_Key, _Plan | None] = {}
        self._validating: dict[_Key, _Plan | None] = {}

    def add(self, name: str, hooks: Hooks) -> None:
        """Put a plugin's hooks at the end."""
        self._plugins.append((name, hooks))
        self.outdate()

    def outdate(self) -> None:
        """What plugins want may have changed."""
        self._mutating.clear()
        self._validating.clear()

    def close(self) -> None:
        """Let plugins stop what they have begun. Idempotent."""
        while self._plugins:
            _, hooks = self._plugins.pop()
            if hooks.close is not None:
                hooks.close()
        self.outdate()

    def mutates(self, operation: Operation, resource: GVR, subresource: str) -> bool:
        """Whether the mutating phase has anything to do with such a request now."""
        return self._mutation((operation, resource, subresource)) is not None

    def validates(self, operation: Operation, resource: GVR, subresource: str) -> bool:
        """Whether the validating phase has anything to do with such a request now."""
        return self._validation((operation, resource, subresource)) is not None

    def accepts(self, operation: Operation, resource: GVR, subresource: str, namespace: str) -> bool:
        """Whether the mutating phase has nothing to do with such a request, or is one hook that would certainly accept
        it as it is. ``namespace``: the request's, ``""`` if it has none."""
        plan = self._mutation((operation, resource, subresource))
        if plan is None:
            return True
        if plan.shortcut is None:
            return False
        began = perf_counter()
        passes, noted = plan.shortcut
        if not passes(operation, namespace):
            return False
        noted.note(perf_counter() - began)
        return True

    async def mutate(self, attributes: Attributes) -> None:
        """Run the mutating phase; once more, if a plugin that changed the object wants others to see it again.

        Raises:
            APIError: a plugin refuses.
        """
        plan = self._mutation((attributes.operation, attributes.resource, attributes.subresource))
        if plan is None:
            return
        reinvocation = attributes.reinvocation
        if reinvocation.second:  # they have been through once already
            attributes.reinvocation = reinvocation = Reinvocation()
        await plan.run(attributes)
        if reinvocation.wanted:
            reinvocation.second = True
            await plan.run(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run the validating phase. Raises as ``mutate``."""
        plan = self._validation((attributes.operation, attributes.resource, attributes.subresource))
        if plan is not None:
            await plan.run(attributes)

    def _mutation(self, key: _Key) -> _Plan | None:
        try:
            return self._mutating[key]
        except KeyError:
            _make_room(self._mutating)
            plan = self._mutating[key] = self._plan(key, "admit")
            return plan

    def _validation(self, key: _Key) -> _Plan | None:
        try:
            return self._validating[key]
        except KeyError:
            _make_room(self._validating)
            plan = self._validating[key] = self._plan(key, "validate")
            return plan

    def _plan(self, key: _Key, phase: str) -> _Plan | None:
        operation = key[0]
        steps: list[_Step] = []
        shortcut: tuple[Callable[[Operation, str], bool], Tally] | None = None
        phase_seconds = step_seconds(phase, operation.value)
        for name, hooks in self._plugins:
            hook = hooks.mutate if phase == "admit" else hooks.validate
            if hook is None or operation not in hooks.operations or (hooks.wants is not None and not hooks.wants(*key)):
                continue
            seconds = plugin_seconds(name, phase, operation.value)
            steps.append(_Step(hook, seconds))
            if hooks.passes is not None:
                shortcut = hooks.passes, tally((), (seconds.accepted, phase_seconds.accepted))
        if not steps:
            return None
        return _Plan(tuple(steps), phase_seconds, shortcut if phase == "admit" and len(steps) == 1 else None)


def _make_room(plans: dict[_Key, _Plan | None]) -> None:
    if len(plans) >= _REMEMBERED_PLANS:
        plans.clear()


EMPTY = Chain()
"""Admits everything."""
