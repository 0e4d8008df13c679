"""The syntax tree. Nodes are made by the parser and by macros, and annotated once by the checker.

``position`` is the offset of the node in the source, in code points: where an issue about it is shown. The checker sets
``type``. ``&&`` and ``||`` are calls of two or more arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.cel.types import DYN, Type
from controlplane.cel.values import Value

if TYPE_CHECKING:
    from controlplane.cel.functions import Overload

__all__ = [
    "UNFOLDED",
    "Call",
    "Comprehension",
    "Const",
    "Expr",
    "Field",
    "Ident",
    "ListExpr",
    "MapEntry",
    "MapExpr",
    "Select",
    "StructExpr",
]


class Unfolded:
    """The mark of a node that nobody has tried to evaluate beforehand."""

    __slots__ = ()


UNFOLDED = Unfolded()


class Expr:
    """Any node. ``folded`` is the engine's: the value if it is constant, NOT_CONSTANT if not, once that is known."""

    __slots__ = ("folded", "position", "type")

    def __init__(self, position: int) -> None:
        self.position = position
        self.type: Type = DYN
        self.folded: Value = UNFOLDED


class Const(Expr):
    """A literal, or a name that stands for a constant (a type, an enumeration's value)."""

    __slots__ = ("value",)

    def __init__(self, position: int, value: Value) -> None:
        super().__init__(position)
        self.value = value


class Ident(Expr):
    """A variable. A leading dot in ``name`` means: not a local one."""

    __slots__ = ("name",)

    def __init__(self, position: int, name: str) -> None:
        super().__init__(position)
        self.name = name


class Select(Expr):
    """``operand.field``; with ``test_only``, ``has(operand.field)``."""

    __slots__ = ("field", "operand", "test_only")

    def __init__(self, position: int, operand: Expr, field: str, *, test_only: bool = False) -> None:
        super().__init__(position)
        self.operand = operand
        self.field = field
        self.test_only = test_only


class Call(Expr):
    """A function or an operator, ``target.function(args)`` or ``function(args)``. The checker sets ``overloads``."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, position: int, function: str, args: list[Expr], target: Expr | None = None) -> None:
        super().__init__(position)
        self.function = function
        self.target = target
        self.args = args
        self.overloads: tuple[Overload, ...] = ()


class ListExpr(Expr):
    """``[a, ?b]``: ``optional`` holds the indices with a question mark."""

    __slots__ = ("items", "optional")

    def __init__(self, position: int, items: list[Expr], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(position)
        self.items = items
        self.optional = optional


class MapEntry:
    """``key: value`` or ``?key: value``. ``position`` is the colon's."""

    __slots__ = ("key", "optional", "position", "value")

    def __init__(self, position: int, key: Expr, value: Expr, *, optional: bool = False) -> None:
        self.position = position
        self.key = key
        self.value = value
        self.optional = optional


class MapExpr(Expr):
    """``{k: v}``."""

    __slots__ = ("entries",)

    def __init__(self, position: int, entries: list[MapEntry]) -> None:
        super().__init__(position)
        self.entries = entries


class Field:
    """``name: value`` of an object's construction. ``position`` is the colon's."""

    __slots__ = ("name", "optional", "position", "value")

    def __init__(self, position: int, name: str, value: Expr, *, optional: bool = False) -> None:
        self.position = position
        self.name = name
        self.value = value
        self.optional = optional


class StructExpr(Expr):
    """``Type{name: value}``."""

    __slots__ = ("fields", "type_name")

    def __init__(self, position: int, type_name: str, fields: list[Field]) -> None:
        super().__init__(position)
        self.type_name = type_name
        self.fields = fields


class Comprehension(Expr):
    """The one loop that macros expand to.

    For each item of ``iter_range`` (and while ``condition`` holds) ``accu`` becomes ``step``; the value is ``result``.
    ``cel.bind`` is the one without a range: ``accu`` is bound to ``init`` in ``result``, evaluated on first use.
    """

    __slots__ = ("accu", "condition", "init", "iter_range", "iter_var", "iter_var2", "result", "step")

    def __init__(
        self,
        position: int,
        *,
        iter_range: Expr,
        iter_var: str,
        accu: str,
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
        iter_var2: str = "",
    ) -> None:
        super().__init__(position)
        self.iter_range = iter_range
        self.iter_var = iter_var
        self.iter_var2 = iter_var2
        self.accu = accu
        self.init = init
        self.condition = condition
        self.step = step
        self.result = result

    @property
    def is_bind(self) -> bool:
        """Whether it only names a value."""
        return (
            isinstance(self.iter_range, ListExpr)
            and not self.iter_range.items
            and isinstance(self.condition, Const)
            and self.condition.value is False
            and self.accu != ACCUMULATOR
        )


ACCUMULATOR = "@result"
"""What macros call their accumulator: no name that an expression can write."""
