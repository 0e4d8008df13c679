"""Whether one type can be given where another is wanted, and what type parameters then stand for.

Source: google/cel-go ``checker/types.go``: the same rules in the same order, because they decide which overloads match.
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.cel.types import DYN, Type

__all__ = ["Substitutions", "TooComplex", "most_general"]

_MAX_STEPS = 2_000_000
"""Of replacing parameters in one check: a tenth of a second. Types can be written that double with every line."""


class TooComplex(Exception):
    """The types of an expression take too long to work out."""


_NULLABLE = frozenset({"opaque", "object", "duration", "timestamp"})
_NESTED = frozenset({"opaque", "list", "map"})


class Substitutions:
    """What type parameters stand for so far. A failed attempt leaves no trace."""

    __slots__ = ("_bound", "_count", "_steps", "_trail")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        self._count = 0
        self._steps = 0

    def fresh(self) -> Type:
        """A parameter that nothing else uses."""
        self._count += 1
        return Type("param", f"_var{self._count - 1}")

    def assignable(self, given: Type, wanted: Type) -> bool:
        """Whether the types agree; parameters in them are bound if so."""
        return self.all_assignable((given,), (wanted,))

    def all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """The same for several at once."""
        self._trail.clear()
        if self._lists(given, wanted):
            return True
        for name, before in reversed(self._trail):
            if before is None:
                self._bound.pop(name, None)
            else:
                self._bound[name] = before
        return False

    def apply(self, declared: Type, *, free_to_dyn: bool = False) -> Type:
        """The type with parameters replaced by what they stand for; free ones by dyn if asked."""
        self._steps += declared.weight
        if self._steps > _MAX_STEPS:
            raise TooComplex
        if declared.kind == "param":
            bound = self._bound.get(declared.name)
            if bound is not None:
                return self.apply(bound, free_to_dyn=free_to_dyn)
            return DYN if free_to_dyn else declared
        if not declared.params:
            return declared
        params = tuple(self.apply(param, free_to_dyn=free_to_dyn) for param in declared.params)
        if all(new is old for new, old in zip(params, declared.params, strict=True)):
            return declared
        return Type(declared.kind, declared.name, params, declared.semantics)

    def _bind(self, name: str, bound: Type) -> None:
        self._trail.append((name, self._bound.get(name)))
        self._bound[name] = bound

    def _lists(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        return len(given) == len(wanted) and all(
            self._agree(one, other) for one, other in zip(given, wanted, strict=True)
        )

    def _agree(self, given: Type, wanted: Type) -> bool:
        if given is wanted and not given.params and given.kind != "param":
            return True
        if wanted.kind == "param":
            valid, bound = self._substitutable(given, wanted)
            if valid:
                return True
            if bound:
                return False
        if given.kind == "param":
            return self._substitutable(wanted, given)[0]
        if given.kind in ("dyn", "error") or wanted.kind in ("dyn", "error"):
            return True
        if given.kind == "null_type":
            return wanted.kind in _NULLABLE or wanted.kind == "null_type"
        if wanted.kind == "null_type":
            return given.kind in _NULLABLE
        if given.kind == "type":
            return wanted.kind == "type"
        if given.kind in _NESTED:
            return given.kind == wanted.kind and given.name == wanted.name and self._lists(given.params, wanted.params)
        return given == wanted

    def _substitutable(self, given: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether ``given`` can be what ``parameter`` stands for, and whether that stood for something before."""
        if given == parameter:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if given == bound:
                return True, True
            if self._agree(given, bound):
                general = most_general(given, bound)
                if not self._occurs(parameter, general):
                    self._bind(parameter.name, general)
                return True, True
            return False, True
        if self._occurs(parameter, given):
            return False, False
        self._bind(parameter.name, given)
        return True, False

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if within.kind == "param":
            if within == parameter:
                return True
            bound = self._bound.get(within.name)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, param) for param in within.params)


def most_general(one: Type, other: Type) -> Type:
    """The more general of two types that agree."""
    return one if _at_most_as_specific(one, other) else other


def _at_most_as_specific(one: Type, other: Type) -> bool:
    if one.kind in ("dyn", "param"):
        return True
    if other.kind in ("dyn", "param") or one.kind != other.kind:
        return False
    if one.kind in _NESTED:
        return (
            one.name == other.name
            and len(one.params) == len(other.params)
            and all(_at_most_as_specific(a, b) for a, b in zip(one.params, other.params, strict=True))
        )
    return one.kind == "type" or one == other
