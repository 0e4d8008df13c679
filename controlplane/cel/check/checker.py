"""Static checking: every name resolved, every call matched with overloads, every node given its type.

The tree is annotated in place; nodes that turn out to be qualified names (``a.b`` declared as one variable) or
constants (a type's name) are replaced. What is wrong is said in cel-go's words.

Source: google/cel-go ``checker/checker.go``, ``checker/errors.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.cel.ast import (
    Call,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapExpr,
    Select,
    StructExpr,
)
from controlplane.cel.check.unify import Substitutions, TooComplex, most_general
from controlplane.cel.environment import Environment
from controlplane.cel.errors import Issues
from controlplane.cel.functions import Function, Overload
from controlplane.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    TYPE,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of_type,
)
from controlplane.cel.values import type_of

__all__ = ["check"]


def check(expr: Expr, environment: Environment, source: str) -> Expr:
    """The tree with types and overloads.

    Raises:
        CompileError.
    """
    checker = _Checker(environment, source)
    try:
        expr = checker.check(expr)
        for node in checker.nodes:
            node.type = checker.types.apply(node.type, free_to_dyn=True)
    except (TooComplex, RecursionError):
        checker.issues.add(-1, "expression is too complex to be checked")
    if checker.issues:
        raise checker.issues.error()
    return expr


class _Checker:
    def __init__(self, environment: Environment, source: str) -> None:
        self.environment = environment
        self.issues = Issues(source)
        self.types = Substitutions()
        self.nodes: list[Expr] = []
        self.scopes: list[dict[str, Type]] = []
        self.resolved: dict[tuple[object, ...], tuple[Type, tuple[Overload, ...], list[Type]]] = {}
        """Calls by function and the identity of the arguments' types, which are kept so that it stays theirs."""

    def check(self, expr: Expr) -> Expr:
        """Check one node and what is below it; the node to put in its place."""
        match expr:
            case Const():
                found = type_of(expr.value)
                expr.type = type_of_type(expr.value) if found is TYPE else found
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                self._list(expr)
            case MapExpr():
                self._map(expr)
            case StructExpr():
                self._struct(expr)
            case Comprehension():
                self._comprehension(expr)
            case _:
                raise TypeError(f"not an expression: {expr!r}")
        self.nodes.append(expr)
        return expr

    # Names

    def _local(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _resolved(self, name: str, position: int) -> Expr | None:
        """What a global name stands for: a variable or a constant."""
        for candidate in self.environment.candidates(name):
            declared = self.environment.variables.get(candidate)
            if declared is not None:
                local = self._local(candidate.partition(".")[0]) is not None
                node: Expr = Ident(position, "." + candidate if local else candidate)
                node.type = declared
                return node
            if candidate in self.environment.constants:
                return self._constant(position, self.environment.constants[candidate])
            found = self.environment.provider.type(candidate)
            if found is not None:
                return self._constant(position, found)
        return None

    def _constant(self, position: int, value: object) -> Expr:
        node = Const(position, value)
        node.type = type_of_type(value) if isinstance(value, Type) else type_of(value)
        return node

    def _ident(self, expr: Ident) -> Expr:
        local = None if expr.name.startswith(".") else self._local(expr.name)
        if local is not None:
            expr.type = local
            self.nodes.append(expr)
            return expr
        found = self._resolved(expr.name, expr.position)
        if found is None:
            self._undeclared(expr.position, expr.name)
            expr.type = ERROR
            found = expr
        self.nodes.append(found)
        return found

    def _undeclared(self, position: int, name: str) -> None:
        text = f"undeclared reference to '{name}' (in container '{self.environment.container}')"
        self.issues.add(position, text)

    def _select(self, expr: Select) -> Expr:
        name = None if expr.test_only else _qualified_name(expr)
        if name is not None and (name.startswith(".") or self._local(name.partition(".")[0]) is None):
            found = self._resolved(name, expr.position)
            if found is not None:
                self.nodes.append(found)
                return found
        expr.operand = self.check(expr.operand)
        selected = self._field(expr.operand, expr.field, expr.position)
        expr.type = BOOL if expr.test_only else self.types.apply(selected)
        self.nodes.append(expr)
        return expr

    def _field(self, operand: Expr, field: str, position: int, *, optional: bool = False) -> Type:
        operand_type = self.types.apply(operand.type)
        target = operand_type.params[0] if operand_type.is_optional else operand_type
        result = ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "object":
            declared = self.environment.provider.field(target.name, field)
            if declared is None:
                self.issues.add(position, f"undefined field '{field}'")
            else:
                result = declared.type
        elif target.kind == "param":
            self.types.assignable(DYN, target)
            result = DYN
        else:
            if target.kind not in ("dyn", "error"):
                self.issues.add(position, f"type '{target}' does not support field selection")
            result = DYN
        return optional_of(result) if optional or operand_type.is_optional else result

    # Calls

    def _call(self, expr: Call) -> Expr:
        if expr.function == "_?._":
            expr.args[0] = self.check(expr.args[0])
            expr.args[1] = self.check(expr.args[1])
            field = expr.args[1]
            assert isinstance(field, Const)
            selected = self._field(expr.args[0], field.value, expr.position, optional=True)
            expr.type = self.types.apply(selected)
            expr.overloads = self.environment.functions["_?._"].overloads if self._has("_?._", expr) else ()
            self.nodes.append(expr)
            return expr
        expr.args = [self.check(arg) for arg in expr.args]
        if expr.target is not None:
            prefix = _qualified_name(expr.target)
            namespaced = None if prefix is None else self.environment.function(f"{prefix}.{expr.function}")
            if namespaced is not None:
                expr.function, expr.target = namespaced.name, None
                self._resolve(expr, namespaced)
                self.nodes.append(expr)
                return expr
            expr.target = self.check(expr.target)
        if (function := self._has(expr.function, expr)) is not None:
            expr.function = function.name
            self._resolve(expr, function)
        self.nodes.append(expr)
        return expr

    def _has(self, name: str, expr: Call) -> Function | None:
        function = self.environment.function(name)
        if function is None:
            self._undeclared(expr.position, name)
            expr.type = ERROR
        return function

    def _resolve(self, expr: Call, function: Function) -> None:
        args = expr.args if expr.target is None else [expr.target, *expr.args]
        if function.name in ("_&&_", "_||_"):
            self._resolve_logical(expr, function)
            return
        given = [arg.type for arg in args]
        key = (function.name, expr.target is not None, *map(id, given))
        known = self.resolved.get(key)
        if known is not None:
            expr.type, expr.overloads, _ = known
            return
        found: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != (expr.target is not None) or _differ(given, overload.params):
                continue
            params, declared = self._instantiated(overload)
            if not self.types.all_assignable(given, params):
                continue
            found.append(overload)
            declared = self.types.apply(declared)
            if result is None:
                result = declared
            elif result.kind != "dyn" and declared != result:
                result = DYN
        if result is None:
            shown = [str(self.types.apply(arg, free_to_dyn=True)) for arg in given]
            target = f"{shown.pop(0)}." if expr.target is not None else ""
            applied = f"{target}({', '.join(shown)})"
            text = f"found no matching overload for '{function.name}' applied to '{applied}'"
            self.issues.add(expr.position, text)
            result = ERROR
        expr.type = result
        expr.overloads = tuple(found)
        if found and not result.has_parameters and not any(one.has_parameters for one in given):
            self.resolved[key] = result, expr.overloads, given

    def _resolve_logical(self, expr: Call, function: Function) -> None:
        for arg in expr.args:
            if not self.types.assignable(arg.type, BOOL):
                self._mismatch(arg.position, BOOL, arg.type)
        expr.type = BOOL
        expr.overloads = function.overloads

    def _instantiated(self, overload: Overload) -> tuple[list[Type], Type]:
        """Its parameters and result, with type parameters of this call's own."""
        fresh: dict[str, Type] = {}

        def renamed(declared: Type) -> Type:
            if declared.kind == "param":
                if declared.name not in fresh:
                    fresh[declared.name] = self.types.fresh()
                return fresh[declared.name]
            if not declared.params:
                return declared
            return Type(declared.kind, declared.name, tuple(map(renamed, declared.params)))

        return [renamed(param) for param in overload.params], renamed(overload.result)

    def _mismatch(self, position: int, wanted: Type, found: Type) -> None:
        self.issues.add(position, f"expected type '{wanted}' but found '{found}'")

    # Literals

    def _joined(self, before: Type | None, now: Type) -> Type:
        if before is None:
            return now
        if self.types.assignable(before, now):
            return most_general(before, now)
        return DYN  # where Kubernetes wants one type, the validators say so

    def _unwrapped(self, expr: Expr) -> Type:
        """The type of an optional entry's value."""
        found = self.types.apply(expr.type)
        if found.is_optional:
            return found.params[0]
        if found.kind != "dyn":
            self._mismatch(expr.position, optional_of(found), found)
        return found

    def _list(self, expr: ListExpr) -> None:
        item_type: Type | None = None
        for index, item in enumerate(expr.items):
            checked = expr.items[index] = self.check(item)
            found = self._unwrapped(checked) if index in expr.optional else checked.type
            item_type = self._joined(item_type, found)
        expr.type = list_of(item_type or self.types.fresh())

    def _map(self, expr: MapExpr) -> None:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in expr.entries:
            entry.key = self.check(entry.key)
            key_type = self._joined(key_type, entry.key.type)
            entry.value = self.check(entry.value)
            found = self._unwrapped(entry.value) if entry.optional else entry.value.type
            value_type = self._joined(value_type, found)
        expr.type = map_of(key_type or self.types.fresh(), value_type or self.types.fresh())

    def _struct(self, expr: StructExpr) -> None:
        declared: Type | None = None
        for candidate in self.environment.candidates(expr.type_name):
            declared = self.environment.provider.type(candidate)
            if declared is not None:
                break
            constant = self.environment.constants.get(candidate)
            if isinstance(constant, Type):
                self.issues.add(expr.position, f"'{constant}' is not a message type")
                declared = ERROR
                break
        if declared is None:
            self._undeclared(expr.position, expr.type_name)
            declared = ERROR
        expr.type = declared
        expr.type_name = declared.name
        for field in expr.fields:
            field.value = self.check(field.value)
            given = self._unwrapped(field.value) if field.optional else field.value.type
            if declared is ERROR:
                continue
            found = self.environment.provider.field(declared.name, field.name)
            if found is None:
                self.issues.add(field.position, f"undefined field '{field.name}'")
            elif not self.types.assignable(found.type, given):
                text = f"expected type of field '{field.name}' is '{found.type}' but provided type is '{given}'"
                self.issues.add(field.position, text)

    # Loops

    def _comprehension(self, expr: Comprehension) -> None:
        expr.iter_range = self.check(expr.iter_range)
        expr.init = self.check(expr.init)
        ranged = self.types.apply(expr.iter_range.type)
        accu_type = expr.init.type
        self.scopes.append({expr.accu: accu_type})
        self.scopes.append(self._loop_variables(expr, ranged))
        expr.condition = self.check(expr.condition)
        if not self.types.assignable(BOOL, expr.condition.type):
            self._mismatch(expr.condition.position, BOOL, expr.condition.type)
        expr.step = self.check(expr.step)
        if not self.types.assignable(accu_type, expr.step.type):
            self._mismatch(expr.step.position, accu_type, expr.step.type)
        self.scopes.pop()
        expr.result = self.check(expr.result)
        self.scopes.pop()
        expr.type = self.types.apply(expr.result.type)

    def _loop_variables(self, expr: Comprehension, ranged: Type) -> dict[str, Type]:
        first: Type = ERROR
        second: Type = ERROR
        if ranged.kind == "list":
            first, second = (INT, ranged.params[0]) if expr.iter_var2 else (ranged.params[0], ERROR)
        elif ranged.kind == "map":
            first, second = ranged.params
        elif ranged.kind in ("dyn", "error", "param"):
            self.types.assignable(DYN, ranged)
            first = second = DYN
        else:
            text = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
            self.issues.add(expr.iter_range.position, text)
        return {expr.iter_var: first, expr.iter_var2: second} if expr.iter_var2 else {expr.iter_var: first}


_FLEXIBLE = frozenset({"dyn", "error", "null_type", "param"})


def _differ(given: Sequence[Type], params: Sequence[Type]) -> bool:
    """Whether a look at the outermost types tells that an overload does not fit."""
    if len(given) != len(params):
        return True
    for one, other in zip(given, params, strict=True):
        if one.kind != other.kind and one.kind not in _FLEXIBLE and other.kind not in _FLEXIBLE:
            return True
    return False


def _qualified_name(expr: Expr) -> str | None:
    """``a.b.c`` of a chain of plain selections."""
    parts: list[str] = []
    while isinstance(expr, Select) and not expr.test_only:
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    parts.append(expr.name)
    return ".".join(reversed(parts))
