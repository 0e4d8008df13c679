"""The admission chain: the plugins that are on, in their order, sorted once by what they handle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controlplane.apiserver.admission.api import AdmissionPlugin, Attributes, Hook, Hooks, Operation, PluginServices

__all__ = ["EMPTY", "Chain", "build_chain"]


class Chain:
    """Runs hooks in order; an operation that nobody handles costs one lookup.

    ``mutates`` and ``validates`` tell whether a phase has anything to do, so that callers need not even build
    attributes for it.
    """

    __slots__ = ("_mutate", "_validate")

    def __init__(self, plugins: Iterable[Hooks] = ()) -> None:
        plugins = tuple(plugins)
        self._mutate = {
            operation: _hooks(p.mutate for p in plugins if operation in p.operations) for operation in Operation
        }
        self._validate = {
            operation: _hooks(p.validate for p in plugins if operation in p.operations) for operation in Operation
        }

    def mutates(self, operation: Operation) -> bool:
        return bool(self._mutate[operation])

    def validates(self, operation: Operation) -> bool:
        return bool(self._validate[operation])

    async def mutate(self, attributes: Attributes) -> None:
        """Run the mutating phase.

        Raises:
            APIError: a plugin refuses.
        """
        for hook in self._mutate[attributes.operation]:
            await hook(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run the validating phase. Raises as ``mutate``."""
        for hook in self._validate[attributes.operation]:
            await hook(attributes)


def _hooks(found: Iterable[Hook | None]) -> tuple[Hook, ...]:
    return tuple(hook for hook in found if hook is not None)


EMPTY = Chain()
"""Admits everything."""


def build_chain(
    ordered: Sequence[AdmissionPlugin],
    services: PluginServices,
    *,
    enabled: Iterable[str] = (),
    disabled: Iterable[str] = (),
) -> Chain:
    """Build the chain: plugins that are on by default or enabled, without those disabled, in the order of ``ordered``.

    Raises:
        ValueError: an unknown name, a name both enabled and disabled, or two plugins of one name.
    """
    on, off = set(enabled), set(disabled)
    names = [plugin.name for plugin in ordered]
    if len(set(names)) < len(names):
        raise ValueError(
            f"admission plugins listed twice: {', '.join(sorted({n for n in names if names.count(n) > 1}))}"
        )
    if unknown := (on | off) - set(names):
        raise ValueError(f"unknown admission plugins: {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    if both := on & off:
        raise ValueError(f"admission plugins both enabled and disabled: {', '.join(sorted(both))}")
    return Chain(
        plugin.build(services)
        for plugin in ordered
        if plugin.name in on or (plugin.default_on and plugin.name not in off)
    )
