"""What an expression can name: variables, functions, macros and types.

Environments are values; extending one is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.macros import Macro
from controlplane.cel.syntax.parser import MacroTable, macro_table
from controlplane.cel.types import Type
from controlplane.cel.values import Value

__all__ = ["Environment", "FieldDeclaration", "NoTypes", "Provider"]


class FieldDeclaration(NamedTuple):
    """A field of a declared object.

    ``key``     the JSON object's key (a field's name in expressions may be escaped).
    ``type``    the field's type.
    ``read``    what makes a CEL value of the JSON value (a timestamp of a string); None if it is one already.
    ``nullable``  the field can hold null, which means that it is not there.
    """

    key: str
    type: Type
    read: Callable[[Value], Value] | None = None
    nullable: bool = False


class Provider(Protocol):
    """Declared object types, by name."""

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        """A field of an object type; None if it has no such field."""

    def type(self, name: str) -> Type | None:
        """The object type of this name, for construction and for ``type(x) == name``; None if there is none."""

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """The value of ``type_name{fields}``, which the checker has found to be well typed.

        Raises:
            EvalError.
        """


class NoTypes:
    """A provider of nothing."""

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        """None."""
        del type_name, field
        return None

    def type(self, name: str) -> Type | None:
        """None."""
        del name
        return None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """Never called."""
        raise TypeError(f"{type_name} is not declared: {sorted(fields)}")


class Environment:
    """Names and what they stand for.

    Args:
        libraries: functions, macros and type names; overloads of one name are joined in this order, each id once.
        variables: their types, in the order in which a program takes their values.
        provider: declared object types.
        container: the namespace in which names are looked up first (``a.b`` sees ``a.b.x`` as ``x``).
        homogeneous_literals: whether items of a list or map literal must be of one type, as Kubernetes wants it.
    """

    __slots__ = ("constants", "container", "functions", "homogeneous_literals", "macros", "provider", "variables")

    def __init__(
        self,
        libraries: Iterable[Library],
        *,
        variables: Mapping[str, Type] | None = None,
        provider: Provider | None = None,
        container: str = "",
        homogeneous_literals: bool = True,
    ) -> None:
        self.functions: dict[str, Function] = {}
        self.constants: dict[str, Value] = {}
        macros: list[Macro] = []
        for library in libraries:
            macros.extend(library.macros)
            self.constants.update(library.types)
            for function in library.functions:
                known = self.functions.get(function.name)
                overloads = _joined(known.overloads, function.overloads) if known else function.overloads
                self.functions[function.name] = Function(function.name, overloads)
        self.macros: MacroTable = macro_table(macros)
        self.variables: Mapping[str, Type] = dict(variables or {})
        self.provider: Provider = provider or NoTypes()
        self.container = container
        self.homogeneous_literals = homogeneous_literals

    def extend(self, variables: Mapping[str, Type], provider: Provider | None = None) -> Environment:
        """The same with more variables, and perhaps other declared types. Shares everything else."""
        extended = object.__new__(Environment)
        extended.functions, extended.constants, extended.macros = self.functions, self.constants, self.macros
        extended.variables = {**self.variables, **variables}
        extended.provider = provider or self.provider
        extended.container, extended.homogeneous_literals = self.container, self.homogeneous_literals
        return extended

    def candidates(self, name: str) -> Iterator[str]:
        """The full names that a name may stand for, the innermost first."""
        if name.startswith("."):
            yield name[1:]
            return
        container = self.container
        while container:
            yield f"{container}.{name}"
            container = container.rpartition(".")[0]
        yield name

    def function(self, name: str) -> Function | None:
        """The function of this name."""
        for candidate in self.candidates(name):
            if (found := self.functions.get(candidate)) is not None:
                return found
        return None


def _joined(known: tuple[Overload, ...], added: tuple[Overload, ...]) -> tuple[Overload, ...]:
    ids = {overload.id for overload in known}
    return known + tuple(overload for overload in added if overload.id not in ids)
