"""Who is to be asked a second time: those that want it and have been asked before somebody else changed the object.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/mutating/reinvocationcontext.go`` and its twin of policies.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.admission.api import Attributes

__all__ = ["Reinvoking"]


class Reinvoking:
    """One plugin's memory of a request's first round."""

    __slots__ = ("_asked", "_output", "_wanted")

    def __init__(self) -> None:
        self._output: Obj | None = None
        self._asked: set[Hashable] = set()
        self._wanted: set[Hashable] = set()

    @classmethod
    def of(cls, plugin: str, attributes: Attributes) -> Reinvoking:
        """The memory of a plugin; in the second round, if the object has changed since, all that have been asked before
        are to be asked again."""
        values = attributes.reinvocation.values
        memory: Reinvoking = values.setdefault(plugin, cls())
        if attributes.reinvocation.second and memory._output != attributes.obj:
            memory.changed()
        return memory

    def skips(self, key: Hashable, attributes: Attributes) -> bool:
        """Whether one is not to be asked in this round."""
        return attributes.reinvocation.second and key not in self._wanted

    def changed(self) -> None:
        """The object has changed: those asked before want to see it."""
        self._wanted |= self._asked
        self._asked = set()

    def asked(self, key: Hashable) -> None:
        """One that may be asked again has been asked."""
        self._asked.add(key)

    def finish(self, attributes: Attributes) -> None:
        """The round is over."""
        if not attributes.reinvocation.second and (self._asked or self._wanted):
            self._output = deepcopy(attributes.obj)
