"""How functions are declared: the seam between the engine and the libraries.

A library is a value, ``Library(functions=(...), macros=(...), types={...})``; an environment is made of libraries.

    Function("lowerAscii", (
        Overload("string_lower_ascii", (STRING,), STRING, lower_ascii, member=True,
                 cost=lambda result, text: math.ceil(len(text) * STRING_FACTOR),
                 estimate=lambda text: CallEstimate(text.size.scaled(STRING_FACTOR), text.size)),
    ))

Implementations take evaluated arguments, a member's target first, and raise ``EvalError``. They are called only with
values of the declared parameter types: where the checker cannot prove them (``dyn``), the engine looks at run time.
They must be linear in what their ``cost`` says, and must not build anything larger than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from controlplane.cel.estimates import CallEstimate
from controlplane.cel.types import Type
from controlplane.cel.values import Value

if TYPE_CHECKING:
    from controlplane.cel.macros import Macro

__all__ = ["NOT_CONSTANT", "Function", "Library", "Overload"]


class NotConstant:
    """The mark of an argument whose value is not known while compiling."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_CONSTANT"


NOT_CONSTANT: Final = NotConstant()


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    ``id``        cel-go's overload id, unique in an environment.
    ``params``    parameter types, a member's target first; type parameters by ``types.param``.
    ``result``    the result's type.
    ``impl``      the implementation: ``impl(*arguments) -> value``.
    ``member``    called as ``target.name(...)``; else ``name(...)`` (the name may hold dots: ``ip.isCanonical``).
    ``cost``      counted cost of one call, ``cost(result, *arguments) -> int``; None is 1. It is counted before the
                  call, so that nothing is begun that costs too much; ``result`` is None then.
    ``by_result`` the cost goes by the result, and is counted after the call.
    ``estimate``  static estimate, ``estimate(*operands) -> CallEstimate``; None is 1, size by type. It may return None,
                  which is the same.
    ``bind``      asked while compiling if an argument is constant: ``bind(*arguments)``, each a value or NOT_CONSTANT;
                  it returns an implementation that takes all arguments as ``impl`` does but has prepared what it
                  could (a parsed pattern), or None. EvalError: a constant makes no sense (a pattern that is none), and
                  no program comes of the expression.
    """

    id: str
    params: tuple[Type, ...]
    result: Type
    impl: Callable[..., Value]
    member: bool = False
    cost: Callable[..., int] | None = None
    estimate: Callable[..., CallEstimate | None] | None = None
    bind: Callable[..., Callable[..., Value] | None] | None = None
    by_result: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A name and its overloads; in an environment, equal names of several libraries are joined in order."""

    name: str
    overloads: tuple[Overload, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """What one library adds: functions, macros, and names of types (``net.IP``)."""

    functions: tuple[Function, ...] = ()
    macros: tuple[Macro, ...] = ()
    types: Mapping[str, Type] = field(default_factory=dict)
