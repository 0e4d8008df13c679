"""What an expression can cost at most, before it is ever evaluated: by the sizes that declarations allow.

    bounds = estimate_cost(program.expr, sizes)

``sizes`` tells how large a value at a path is (``("self", "items", "@items")``), None where it does not know.

Source: google/cel-go ``checker/cost.go``: the same figures, since upstream accepts or refuses rules by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.cel.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from controlplane.cel.estimates import (
    LIST_CREATE_COST,
    MAP_CREATE_COST,
    SELECT_COST,
    STRUCT_CREATE_COST,
    UNBOUNDED,
    UNKNOWN,
    Bounds,
    CallEstimate,
    fixed,
)
from controlplane.cel.functions import Overload
from controlplane.cel.types import Type

__all__ = ["Sizes", "estimate_cost"]

Path = tuple[str, ...]
Sizes = Callable[[Path, Type], Bounds | None]
"""The size of the value at a path (empty: at none that is declared), which is of this type."""

_ZERO = fixed(0)
_ONE = fixed(1)
_EMPTY = Bounds(UNBOUNDED, 0)
"""The union of nothing yet."""
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def estimate_cost(expr: Expr, sizes: Sizes) -> Bounds:
    """The least and the most that evaluating a checked expression costs."""
    return _Coster(sizes).cost(expr)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of a list's or map's keys and values."""

    kind: str
    key: Bounds
    value: Bounds

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a loop or a binding."""

    path: Path
    size: Bounds | None
    entries: _Entries | None


class _Operand:
    """An argument as a function's estimate sees it."""

    __slots__ = ("_coster", "_expr", "_path", "_size", "type")

    def __init__(
        self, coster: _Coster, path: Path, declared: Type, size: Bounds | None, expr: Expr | None = None
    ) -> None:
        self._coster = coster
        self._path = path
        self.type = declared
        self._size = size
        self._expr = expr

    @property
    def computed_size(self) -> Bounds | None:
        """The size that follows from the expression."""
        return self._size

    @property
    def size(self) -> Bounds:
        """The best that is known."""
        return self._size or self._coster.sizes(self._path, self.type) or UNKNOWN

    @property
    def int_constant(self) -> int | None:
        """The value of a literal of type int."""
        value = self._expr.value if isinstance(self._expr, Const) else None
        return value if type(value) is int else None

    def item(self) -> _Operand | None:
        """A list's items (upstream takes a map's keys for them)."""
        if not self.type.params:
            return None
        path = (*self._path, "@items") if self._path else ()
        return _Operand(self._coster, path, self.type.params[0], None)


class _Coster:
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.paths: dict[int, Path] = {}
        self.computed: dict[int, Bounds] = {}
        self.entries: dict[int, _Entries] = {}
        self.locals: dict[str, list[_Local]] = {}

    def cost(self, expr: Expr) -> Bounds:
        """The cost of a node and all below it; sizes and paths are recorded on the way."""
        match expr:
            case Const():
                if not isinstance(expr.value, Type):
                    return _ZERO
                self.paths[id(expr)] = (str(expr.value),)  # upstream takes a type for a variable, as large as ``self``
                return fixed(SELECT_COST)
            case Ident():
                local = self._local(expr.name)
                self.paths[id(expr)] = local.path if local else (expr.name.removeprefix("."),)
                return fixed(SELECT_COST)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case StructExpr():
                total = fixed(STRUCT_CREATE_COST)
                for field in expr.fields:
                    total = total.plus(self.cost(field.value))
                return total
            case Comprehension():
                return self._bind(expr) if expr.is_bind else self._loop(expr)
            case _:
                raise TypeError(f"not an expression: {expr!r}")

    # Sizes

    def _local(self, name: str) -> _Local | None:
        known = self.locals.get(name)
        return known[-1] if known else None

    def _path(self, expr: Expr) -> Path:
        if isinstance(expr, Ident):
            local = self._local(expr.name)
            if local is not None:
                return local.path
        return self.paths.get(id(expr), ())

    def _size(self, expr: Expr) -> Bounds | None:
        known = self.computed.get(id(expr)) or _literal_size(expr)
        if known is not None:
            return known
        declared = self.sizes(self._path(expr), expr.type)
        if declared is not None:
            self.computed[id(expr)] = declared
            return declared
        if _is_scalar(expr.type):
            return _ONE
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.size if local else None

    def _entries(self, expr: Expr) -> _Entries | None:
        known = self.entries.get(id(expr))
        if known is not None:
            return known
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.entries if local else None

    def _operand(self, expr: Expr) -> _Operand:
        path = self._path(expr)
        if path and path[0].startswith("@"):
            path = ()
        return _Operand(self, path, expr.type, self._size(expr), expr)

    # Nodes

    def _select(self, expr: Select) -> Bounds:
        operand = self.cost(expr.operand)
        if expr.test_only:
            return operand
        self.paths[id(expr)] = (*self._path(expr.operand), expr.field)
        if expr.operand.type.kind in ("map", "object", "param"):
            return operand.plus(fixed(SELECT_COST))
        return operand

    def _call(self, expr: Call) -> Bounds:
        if expr.function == "dyn" and expr.target is None:
            argument = self.cost(expr.args[0])
            self._copy_sizes(expr, expr.args[0])
            return argument.plus(_ONE)
        args = expr.args if expr.target is None else [expr.target, *expr.args]
        costs = [self.cost(arg) for arg in args]
        if expr.function in ("_&&_", "_||_"):
            total = _ZERO
            for cost in costs:
                total = total.plus(cost)
            return Bounds(costs[0].least, total.most)
        if expr.function == "_?_:_":
            self._conditional_sizes(expr)
            return costs[0].plus(costs[1].union(costs[2]))
        total = _ZERO
        for cost in costs:
            total = total.plus(cost)
        if not expr.overloads:
            return total
        return total.plus(self._overloads(expr, args))

    def _overloads(self, expr: Call, args: list[Expr]) -> Bounds:
        """The cost of the function itself, whichever overload it turns out to be."""
        operands = [self._operand(arg) for arg in args]
        total = _EMPTY
        size: Bounds | None = None
        for overload in expr.overloads:
            estimated = _estimated(overload, operands)
            total = total.union(estimated.cost)
            if estimated.size is not None:
                size = estimated.size if size is None else size.union(estimated.size)
            if overload.id in ("index_list", "index_map"):
                entries = self._entries(args[0])
                size = entries.value if entries else None
                part = "@items" if overload.id == "index_list" else "@values"
                self.paths[id(expr)] = (*self._path(args[0]), part)
            elif overload.id in ("add_string", "add_bytes", "add_list"):
                self._join_entries(expr, args)
            if size is None:
                size = self._size(expr)
        if size is not None:
            self.computed[id(expr)] = size
        return total

    def _join_entries(self, expr: Call, args: list[Expr]) -> None:
        first, second = self._entries(args[0]), self._entries(args[1])
        joined = first.union(second) if first else None
        if joined is not None:
            self.entries[id(expr)] = joined

    def _conditional_sizes(self, expr: Call) -> None:
        yes, no = expr.args[1], expr.args[2]
        entries = self._entries(yes)
        joined = entries.union(self._entries(no)) if entries else None
        if joined is not None:
            self.entries[id(expr)] = joined
        self.computed[id(expr)] = (self._size(yes) or UNKNOWN).union(self._size(no) or UNKNOWN)

    def _copy_sizes(self, to: Expr, source: Expr) -> None:
        size, entries = self._size(source), self._entries(source)
        if size is not None:
            self.computed[id(to)] = size
        if entries is not None:
            self.entries[id(to)] = entries

    def _list(self, expr: ListExpr) -> Bounds:
        total = fixed(LIST_CREATE_COST)
        items = _EMPTY if expr.items else _ZERO
        for item in expr.items:
            total = total.plus(self.cost(item))
            items = items.union(self._size(item) or UNKNOWN)
        self.entries[id(expr)] = _Entries("list", _ONE, items)
        return total

    def _map(self, expr: MapExpr) -> Bounds:
        total = fixed(MAP_CREATE_COST)
        keys = values = _EMPTY if expr.entries else _ZERO
        for entry in expr.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self._size(entry.key) or UNKNOWN)
            values = values.union(self._size(entry.value) or UNKNOWN)
        self.entries[id(expr)] = _Entries("map", keys, values)
        return total

    # Loops

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _bind(self, expr: Comprehension) -> Bounds:
        total = self.cost(expr.iter_range).plus(self.cost(expr.init))
        self._push(expr.accu, _Local(self._path(expr.init), self._size(expr.init), self._entries(expr.init)))
        total = total.plus(self.cost(expr.result))
        self.locals[expr.accu].pop()
        self._copy_sizes(expr, expr.result)
        return total

    def _loop(self, expr: Comprehension) -> Bounds:
        total = self.cost(expr.iter_range).plus(self.cost(expr.init))
        self._push(expr.accu, _Local(self._path(expr.init), self._size(expr.init), self._entries(expr.init)))
        variables = self._loop_variables(expr)
        for name, local in variables.items():
            self._push(name, local)
        each = self.cost(expr.condition).plus(self.cost(expr.step))
        for name in variables:
            self.locals[name].pop()
        total = total.plus(self.cost(expr.result))
        self.locals[expr.accu].pop()
        count = self._size(expr.iter_range) or UNKNOWN
        if isinstance(expr.init, Const):
            size = self._size(expr.init)
            if size is not None:
                self.computed[id(expr)] = size
        elif isinstance(expr.init, ListExpr | MapExpr):
            self.computed[id(expr)] = count
            entries = self._entries(expr.step)
            if entries is not None:
                self.entries[id(expr)] = entries
        return total.plus(count.times(each))

    def _loop_variables(self, expr: Comprehension) -> dict[str, _Local]:
        entries, path = self._entries(expr.iter_range), self._path(expr.iter_range)
        is_list = (entries.kind if entries else expr.iter_range.type.kind) == "list"
        key = entries.key if entries else None
        value = entries.value if entries else None
        if expr.iter_var2:
            return {
                expr.iter_var: _Local((*path, "@indices" if is_list else "@keys"), key, None),
                expr.iter_var2: _Local((*path, "@items" if is_list else "@values"), value, None),
            }
        if is_list:
            return {expr.iter_var: _Local((*path, "@items"), value, None)}
        return {expr.iter_var: _Local((*path, "@keys"), key, None)}


def _estimated(overload: Overload, operands: list[_Operand]) -> CallEstimate:
    estimated = overload.estimate(*operands) if overload.estimate is not None else None
    return estimated or CallEstimate(_ONE)


def _literal_size(expr: Expr) -> Bounds | None:
    match expr:
        case Const():
            if isinstance(expr.value, str | bytes):
                return fixed(len(expr.value))
            return None if isinstance(expr.value, Type) else _ONE
        case ListExpr():
            return fixed(len(expr.items))
        case MapExpr():
            return fixed(len(expr.entries))
        case _:
            return None


def _is_scalar(declared: Type) -> bool:
    return declared.kind in _SCALARS or (declared.is_optional and _is_scalar(declared.params[0]))
