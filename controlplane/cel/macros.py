"""How macros are declared: calls that the parser replaces by other expressions.

    Macro("has", 1, expand_has)                      # has(x)
    Macro("all", 2, expand_all, receiver=True)       # x.all(a, b)
    Macro("greatest", None, expand, receiver=True)   # math.greatest(...), any number of arguments

``expand(factory, target, args)`` returns the expression, or None if this call is not meant after all (``x.bind(...)``
where ``x`` is not ``cel``), or raises ``MacroError`` at the argument that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Const,
    Expr,
    Field,
    Ident,
    ListExpr,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
)
from controlplane.cel.values import Value

__all__ = ["Factory", "Macro", "MacroError", "is_namespace"]


class MacroError(Exception):
    """A macro's argument is wrong."""

    def __init__(self, expr: Expr, message: str) -> None:
        super().__init__(message)
        self.position = expr.position


class Factory:
    """Makes the nodes of an expansion; all of them stand where the macro's call does."""

    __slots__ = ("copies_left", "position")

    def __init__(self, position: int, copies_left: int = 100_000) -> None:
        self.position = position
        self.copies_left = copies_left

    def const(self, value: Value) -> Const:
        """A literal."""
        return Const(self.position, value)

    def ident(self, name: str) -> Ident:
        """A variable."""
        return Ident(self.position, name)

    def accu(self) -> Ident:
        """The accumulator."""
        return Ident(self.position, ACCUMULATOR)

    def call(self, function: str, *args: Expr) -> Call:
        """``function(args)``; operators by cel-go's names, as ``_+_``."""
        return Call(self.position, function, list(args))

    def member_call(self, function: str, target: Expr, *args: Expr) -> Call:
        """``target.function(args)``."""
        return Call(self.position, function, list(args), target)

    def list(self, *items: Expr) -> ListExpr:
        """``[items]``."""
        return ListExpr(self.position, list(items))

    def map(self) -> MapExpr:
        """``{}``."""
        return MapExpr(self.position, [])

    def has(self, operand: Expr, field: str) -> Select:
        """``has(operand.field)``."""
        return Select(self.position, operand, field, test_only=True)

    def bind(self, name: str, value: Expr, body: Expr) -> Comprehension:
        """``cel.bind(name, value, body)``."""
        return self.comprehension(
            self.list(), ("#unused",), self.const(value=False), self.ident(name), body, init=value, accu=name
        )

    def comprehension(
        self,
        iter_range: Expr,
        variables: tuple[str, ...],
        condition: Expr,
        step: Expr,
        result: Expr,
        *,
        init: Expr,
        accu: str = ACCUMULATOR,
    ) -> Comprehension:
        """The loop; one variable, or two."""
        return Comprehension(
            self.position,
            iter_range=iter_range,
            iter_var=variables[0],
            iter_var2=variables[1] if len(variables) > 1 else "",
            accu=accu,
            init=init,
            condition=condition,
            step=step,
            result=result,
        )

    def copy(self, expr: Expr) -> Expr:
        """The expression once more, for a place of its own in the tree."""
        self.copies_left -= 1
        if self.copies_left < 0:
            raise MacroError(expr, "macro expansion exceeds the limit of copied nodes")
        match expr:
            case Const():
                return Const(expr.position, expr.value)
            case Ident():
                return Ident(expr.position, expr.name)
            case Select():
                return Select(expr.position, self.copy(expr.operand), expr.field, test_only=expr.test_only)
            case Call():
                target = None if expr.target is None else self.copy(expr.target)
                return Call(expr.position, expr.function, [self.copy(arg) for arg in expr.args], target)
            case ListExpr():
                return ListExpr(expr.position, [self.copy(item) for item in expr.items], expr.optional)
            case MapExpr():
                entries = [
                    MapEntry(entry.position, self.copy(entry.key), self.copy(entry.value), optional=entry.optional)
                    for entry in expr.entries
                ]
                return MapExpr(expr.position, entries)
            case StructExpr():
                fields = [
                    Field(field.position, field.name, self.copy(field.value), optional=field.optional)
                    for field in expr.fields
                ]
                return StructExpr(expr.position, expr.type_name, fields)
            case Comprehension():
                return Comprehension(
                    expr.position,
                    iter_range=self.copy(expr.iter_range),
                    iter_var=expr.iter_var,
                    iter_var2=expr.iter_var2,
                    accu=expr.accu,
                    init=self.copy(expr.init),
                    condition=self.copy(expr.condition),
                    step=self.copy(expr.step),
                    result=self.copy(expr.result),
                )
            case _:
                raise TypeError(f"not an expression: {expr!r}")


@dataclass(frozen=True, slots=True)
class Macro:
    """One macro: its name, how many arguments (None: any), how it expands, and whether it is called on a target."""

    name: str
    arguments: int | None
    expand: Callable[[Factory, Expr | None, list[Expr]], Expr | None]
    receiver: bool = False


def is_namespace(target: Expr | None, name: str) -> bool:
    """Whether a macro's target is this bare name: ``cel`` in ``cel.bind(...)``."""
    return isinstance(target, Ident) and target.name == name
