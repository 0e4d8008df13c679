"""From a checked tree to Python, in two ways.

The fast way stops at the first error: if nothing goes wrong, ``&&`` and ``||`` are Python's own. If something does, the
error may have to be absorbed, and the exact way is tried (``Generator(exact=True)``): it catches errors where the
language does, and counts what was evaluated until then. Neither says in the language's words which error it was (a
missing key is a KeyError); that does ``controlplane.cel.evaluate.plan``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from controlplane.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from controlplane.cel.codegen.calls import call
from controlplane.cel.codegen.loops import loop
from controlplane.cel.codegen.writer import Unsuited, Unsupported, Writer
from controlplane.cel.environment import Environment, FieldDeclaration
from controlplane.cel.equality import find, index
from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import LIST_CREATE_COST, MAP_CREATE_COST, SELECT_COST, STRUCT_CREATE_COST
from controlplane.cel.evaluate.constants import add_entry, constant
from controlplane.cel.evaluate.plan import costs_selection, is_attribute, required, roots_in_conditional
from controlplane.cel.evaluate.selection import field_presence, optional_field_reader
from controlplane.cel.functions import NOT_CONSTANT
from controlplane.cel.values import Message, Optional, Value

__all__ = ["Generator"]


class Generator(Writer):
    """Writes one expression."""

    unsupported = Unsupported()

    def __init__(self, environment: Environment, *, exact: bool = False) -> None:
        super().__init__(exact=exact)
        self.environment = environment
        self.parameters = {name: f"v{slot}" for slot, name in enumerate(environment.variables)}
        self.scopes: list[dict[str, str]] = []

    def local(self, name: str) -> str:
        """A Python name for a variable of the innermost loop or binding."""
        self.scopes[-1][name] = local = self.name()
        return local

    def value(self, expr: Expr) -> str:
        """The node as Python, its cost counted."""
        known = constant(expr)
        if known is not NOT_CONSTANT:
            return self.constant(known)
        if is_attribute(expr):
            text = self.short(self._attribute(expr))
            if not roots_in_conditional(expr) and not (isinstance(expr, Select) and expr.test_only):
                self.cost(SELECT_COST)
                self.before()
            return text
        match expr:
            case Call():
                return self.short(self._call(expr))
            case ListExpr():
                return self.short(self._list(expr))
            case MapExpr():
                return self.short(self._map(expr))
            case StructExpr():
                return self.short(self._struct(expr))
            case Comprehension():
                return self.short(self._bind(expr) if expr.is_bind else loop(self, expr))
            case _:
                raise self.unsupported

    def terms(self, function: str, terms: list[Expr]) -> str:
        """A chain of ``&&`` or ``||``."""
        if len(terms) == 1:
            return self.truth(terms[0])
        if self.exact:
            return self._absorbing_terms(function, terms)
        first = self.truth(terms[0])
        result = self.name()
        self.emit(f"{result} = {first}")
        indent = self.indent
        for term in terms[1:]:
            saved, self.pending = self.pending, 0
            self.emit(f"if {result}:" if function == "_&&_" else f"if not {result}:")
            self.indent += 1
            text = self.truth(term)
            self.flush()
            self.emit(f"{result} = {text}")
            self.pending = saved
            self.indent = indent
        return result

    def truth(self, expr: Expr) -> str:
        """A value that has to be true or false."""
        text = self.value(expr)
        if expr.type.kind == "bool":
            return text
        return self.named(f"{self.constant(_truth)}({text})")

    def _absorbing_terms(self, function: str, terms: list[Expr]) -> str:
        """The same, where the error of one term counts only if no other decides."""
        result, error = self.name(), self.name()
        undecided = function == "_&&_"
        self.flush()
        self.emit(f"{result}, {error} = {undecided}, None")
        for position, term in enumerate(terms):
            with self.block(f"if {result}:" if undecided else f"if not {result}:") if position else nullcontext():
                with self.block("try:", nested=True):
                    self.emit(f"{result} = {self.truth(term)}")
                self.caught(error, first=True)
        self.raise_if(error, f" and {result} is {undecided}")
        return result

    def raise_if(self, error: str, condition: str = "") -> None:
        """Raise the error that was kept, if there is one."""
        self.emit(f"if {error} is not None{condition}: raise {error}")

    # Attributes

    def _attribute(self, expr: Expr) -> str:
        match expr:
            case Ident():
                return self._variable(expr.name)
            case Select():
                return self._select(expr)
            case Call(function="_?_:_"):
                return self._conditional(expr)
            case Call(function="_?._"):
                return self._optional_select(expr)
            case Call():
                return self._index(expr)
            case _:
                raise self.unsupported

    def operand(self, expr: Expr) -> str:
        """What is selected from: an attribute costs only its selections."""
        if is_attribute(expr) and constant(expr) is NOT_CONSTANT:
            return self.short(self._attribute(expr))
        return self.value(expr)

    def _variable(self, name: str) -> str:
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        return self.parameters[name.removeprefix(".")]

    def _declared(self, operand: Expr, field: str) -> FieldDeclaration | None:
        if operand.type.kind != "object":
            return None
        return self.environment.provider.field(operand.type.name, field)

    def _select(self, expr: Select) -> str:
        declared = self._declared(expr.operand, expr.field)
        container = self.operand(expr.operand)
        if expr.operand.type.is_optional or expr.operand.type.kind == "dyn":
            return self._select_careful(expr, container, declared)
        key = self.constant(declared.key if declared else expr.field)
        self.cost(SELECT_COST)
        self.before()
        if expr.test_only:
            if declared is not None and declared.nullable:
                return f"({container}.get({key}) is not None)"
            return f"({key} in {container})"
        text = f"{container}[{key}]"
        if declared is not None and declared.nullable:
            found = self.name()
            text = f"({found} if ({found} := {text}) is not None else fail({'no such key: ' + expr.field!r}))"
        if declared is None or declared.read is None:
            return text
        return f"float({text})" if declared.read is float else f"{self.constant(declared.read)}({text})"

    def _select_careful(self, expr: Select, container: str, declared: FieldDeclaration | None) -> str:
        """From what may be an optional, or anything."""
        if not expr.operand.type.is_optional:
            self.cost(SELECT_COST)
            self.before()
            if expr.test_only:
                return f"{self.constant(_plain_presence(expr.field))}({container})"
            if self.exact:
                return f"{self.constant(_plain_field)}({container}, {self.constant(expr.field)})"
            return f"{container}[{self.constant(expr.field)}]"
        container = self.named(f"{self.constant(_surely_optional)}({container})")
        read = (field_presence if expr.test_only else optional_field_reader)(expr.field, declared)
        found = self.named(f"{self.constant(read)}({container})")
        self.dynamic_cost(f"{self.constant(costs_selection)}({container}, {found})")
        return found

    def _optional_select(self, expr: Call) -> str:
        field: str = constant(expr.args[1])
        read = optional_field_reader(field, self._declared(expr.args[0], field))
        found = self.named(f"{self.constant(read)}({self.operand(expr.args[0])})")
        self.dynamic_cost(f"{found}.has_value")
        return found

    def _index(self, expr: Call) -> str:
        container_expr, key_expr = expr.args
        container = self.operand(container_expr)
        if expr.function == "_[?_]" or container_expr.type.is_optional:
            return self._index_optional(expr, container)
        key = self.operand(key_expr)
        self.cost(SELECT_COST)
        known = constant(key_expr)
        if container_expr.type.kind == "list" and key_expr.type.kind == "int":
            if known is not NOT_CONSTANT:
                return f"{container}[{known}]" if known >= 0 else f"fail('index out of bounds: {known}')"
            key = self.named(key)
            return f"({container}[{key}] if {key} >= 0 else fail('index out of bounds: ' + str({key})))"
        if container_expr.type.kind == "map" and key_expr.type.kind == "string":
            return f"{container}[{key}]"
        return f"{self.constant(_plain_index if self.exact else index)}({container}, {key})"

    def _index_optional(self, expr: Call, container: str) -> str:
        """An index that finds nothing yields none; of nothing, too, and then the index is not evaluated."""
        look = self.constant(find if expr.function == "_[?_]" else index)
        found = self.named(container)
        if expr.args[0].type.is_optional:
            self.emit(f"{self.constant(_surely_optional)}({found})")
            result = self.name()
            self.emit(f"{result} = {found}")
            with self.block(f"if {found}.has_value:"):
                self.emit(f"{result} = {look}({found}, {self.operand(expr.args[1])})")
                self.dynamic_cost(f"{result}.has_value")
            return result
        result = self.named(f"{look}({found}, {self.operand(expr.args[1])})")
        self.dynamic_cost(f"{result}.has_value")
        return result

    def _conditional(self, expr: Call) -> str:
        result = self.name()
        condition, yes, no = expr.args
        test = self.truth(condition)
        with self.block(f"if {test}:"):
            self.emit(f"{result} = {self.operand(yes)}")
        with self.block("else:"):
            self.emit(f"{result} = {self.operand(no)}")
        return result

    # Calls and literals

    def _call(self, expr: Call) -> str:
        if expr.function in ("_&&_", "_||_"):
            return self.terms(expr.function, expr.args)
        if expr.function in ("or", "orValue") and expr.overloads[0].id.startswith("optional_or"):
            return self._either(expr)
        if expr.function == "@not_strictly_false":
            raise self.unsupported
        text = call(self, expr)
        self.before()
        return text

    def _either(self, expr: Call) -> str:
        assert expr.target is not None
        result = self.named(self.value(expr.target))
        chosen = self.name()
        with self.block(f"if {result}.has_value:"):
            self.emit(f"{chosen} = {result}{'.value' if expr.function == 'orValue' else ''}")
        with self.block("else:"):
            self.emit(f"{chosen} = {self.value(expr.args[0])}")
        return chosen

    def _list(self, expr: ListExpr) -> str:
        if not expr.optional:
            items = [self.value(item) for item in expr.items]
            self.cost(LIST_CREATE_COST)
            return f"[{', '.join(items)}]"
        made = self.named("[]")
        for position, item in enumerate(expr.items):
            value = self.value(item)
            if position not in expr.optional:
                self.emit(f"{made}.append({value})")
                continue
            value = self.named(f"{self.constant(required)}('', {value})")
            self.emit(f"if {value}.has_value: {made}.append({value}.value)")
        self.cost(LIST_CREATE_COST)
        return made

    def _map(self, expr: MapExpr) -> str:
        keys = [constant(entry.key) for entry in expr.entries]
        plain = all(type(key) is str for key in keys) and len(set(keys)) == len(keys)
        if plain and not any(entry.optional for entry in expr.entries):
            pairs = [
                f"{self.constant(key)}: {self.value(entry.value)}"
                for key, entry in zip(keys, expr.entries, strict=True)
            ]
            self.cost(MAP_CREATE_COST)
            return f"{{{', '.join(pairs)}}}"
        made, add = self.named("{}"), self.constant(add_entry)
        for entry in expr.entries:
            key, value = self.named(self.value(entry.key)), self.value(entry.value)
            if not entry.optional:
                self.emit(f"{add}({made}, {key}, {value})")
                continue
            value = self.named(f"{self.constant(required)}({key}, {value})")
            self.emit(f"if {value}.has_value: {add}({made}, {key}, {value}.value)")
        self.cost(MAP_CREATE_COST)
        return made

    def _struct(self, expr: StructExpr) -> str:
        construct = self.constant(self.environment.provider.construct)
        made = self.named("{}")
        for field in expr.fields:
            value = self.value(field.value)
            if field.optional:
                value = self.named(f"{self.constant(required)}({field.name!r}, {value})")
                self.emit(f"if {value}.has_value: {made}[{field.name!r}] = {value}.value")
            else:
                self.emit(f"{made}[{field.name!r}] = {value}")
        self.cost(STRUCT_CREATE_COST)
        self.before()
        return f"{construct}({expr.type_name!r}, {made})"

    def _bind(self, expr: Comprehension) -> str:
        """A name for a value, which is evaluated when it is first used: here only if it certainly is."""
        if self.exact or not _certainly_used(expr.accu, expr.result):
            raise self.unsupported
        text = self.value(expr.init)
        self.scopes.append({})
        self.emit(f"{self.local(expr.accu)} = {text}")
        result = self.value(expr.result)
        self.scopes.pop()
        return result


def _plain_presence(field: str) -> Callable[[Value], bool]:
    """``has`` of a value of any type; one that turns out to be an optional is left to the careful way."""
    present = field_presence(field, None)

    def look(value: Value) -> bool:
        if type(value) is Optional:
            raise Unsuited
        return present(value)

    return look


def _surely_optional(value: Value) -> Optional:
    """A value that is declared to be an optional; Kubernetes' messages get the bare value instead."""
    if type(value) is not Optional:
        raise Unsuited
    return value


def _plain_field(value: Value, field: str) -> Value:
    if type(value) is dict and field in value:
        return value[field]
    if isinstance(value, Optional | Message):
        raise Unsuited
    raise EvalError(f"no such key: {field}")


def _plain_index(container: Value, key: Value) -> Value:
    if type(container) is Optional:
        raise Unsuited
    return index(container, key)


def _truth(value: Value) -> bool:
    if value is True or value is False:
        return value
    raise EvalError("no such overload")


def _certainly_used(name: str, expr: Expr) -> bool:
    """Whether evaluating the expression, without errors, evaluates the variable."""
    match expr:
        case Ident():
            return expr.name == name
        case Select():
            return _certainly_used(name, expr.operand)
        case Call(function="_&&_" | "_||_" | "_?_:_"):
            return _certainly_used(name, expr.args[0])
        case Call(function="or" | "orValue"):
            return expr.target is not None and _certainly_used(name, expr.target)
        case Call():
            args = expr.args if expr.target is None else [expr.target, *expr.args]
            return any(_certainly_used(name, arg) for arg in args)
        case ListExpr():
            return any(_certainly_used(name, item) for item in expr.items)
        case MapExpr():
            return any(_certainly_used(name, entry.value) for entry in expr.entries)
        case StructExpr():
            return any(_certainly_used(name, field.value) for field in expr.fields)
        case Comprehension():
            return _certainly_used(name, expr.init if expr.is_bind else expr.iter_range)
        case _:
            return False
