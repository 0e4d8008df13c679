"""Evaluation step by step, to the letter: every node a function of a frame, errors absorbed where the language says so.

This is what compiled code (``controlplane.cel.codegen``) must agree with in value and cost, and what runs when compiled
code meets an error, or cannot be made because an expression nests too deeply.

Costs are counted as cel-go counts them: a variable costs 1, each selection and index on it 1 more, a ternary's branch
that is a variable nothing of its own, a list 10, a map 30, an object 40, what is constant nothing.

Source: google/cel-go ``interpreter/planner.go``, ``interpretable.go``, ``attributes.go``, ``runtimecost.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controlplane.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from controlplane.cel.environment import Environment, FieldDeclaration
from controlplane.cel.equality import find, index
from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.estimates import LIST_CREATE_COST, MAP_CREATE_COST, SELECT_COST, STRUCT_CREATE_COST
from controlplane.cel.evaluate.constants import add_entry, constant
from controlplane.cel.evaluate.dispatch import bound, chooser, is_certain
from controlplane.cel.evaluate.selection import field_presence, field_reader, optional_field_reader
from controlplane.cel.functions import NOT_CONSTANT
from controlplane.cel.standard.costs import joined_surcharge
from controlplane.cel.values import Optional, Value

__all__ = [
    "Frame",
    "Plan",
    "costs_selection",
    "is_attribute",
    "items_of",
    "pairs_of",
    "plan",
    "required",
    "roots_in_conditional",
]

INDEXES = frozenset({"_[_]", "_[?_]", "_?._"})


class Frame:
    """The variables of one evaluation, and what it has cost."""

    __slots__ = ("cost", "limit", "slots")

    def __init__(self, slots: list[Value], limit: int) -> None:
        self.slots = slots
        self.limit = limit
        self.cost = 0

    def charge(self, cost: int) -> None:
        """Count some cost, and look whether it is too much: in calls, literals and loops, which is often enough.

        Raises:
            CostExceeded.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


Step = Callable[[Frame], Value]


class Plan:
    """An expression made ready to be evaluated step by step."""

    __slots__ = ("_locals", "_step")

    def __init__(self, step: Step, local_variables: int) -> None:
        self._step = step
        self._locals = local_variables

    def run(self, limit: int, *values: Value) -> tuple[Value, int]:
        """The value and its cost, of the environment's variables in their order.

        Raises:
            EvalError, CostExceeded.
        """
        frame = Frame([*values, *[None] * self._locals], limit)
        try:
            value = self._step(frame)
            frame.charge(0)
            return value, frame.cost
        except EvalError as error:
            error.cost = frame.cost
            raise
        except RecursionError:
            raise CostExceeded from None


def plan(expr: Expr, environment: Environment) -> Plan:
    """Make a checked expression ready.

    Raises:
        ProgramError.
    """
    planner = _Planner(environment)
    step = planner.step(expr)
    return Plan(step, planner.locals)


def is_attribute(expr: Expr) -> bool:
    """Whether cel-go resolves the node as one attribute: a variable with what is selected of it, or a ternary."""
    return isinstance(expr, Ident | Select) or (
        isinstance(expr, Call) and (expr.function in INDEXES or expr.function == "_?_:_")
    )


def roots_in_conditional(expr: Expr) -> bool:
    """Whether selections start at a ternary."""
    while True:
        if isinstance(expr, Select):
            expr = expr.operand
        elif isinstance(expr, Call) and expr.function in INDEXES:
            expr = expr.args[0]
        else:
            return isinstance(expr, Call) and expr.function == "_?_:_"


class _Planner:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.globals: Mapping[str, int] = {name: slot for slot, name in enumerate(environment.variables)}
        self.scopes: list[dict[str, int]] = []
        self.lazy: dict[int, Step] = {}
        self.locals = 0

    def step(self, expr: Expr) -> Step:
        """The node's value, at its full cost."""
        value = constant(expr)
        if value is not NOT_CONSTANT:
            return lambda frame: value
        if is_attribute(expr):
            if roots_in_conditional(expr) and not (isinstance(expr, Select) and expr.test_only):
                return self.resolve(expr)
            return self._attribute(expr)
        match expr:
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case StructExpr():
                return self._struct(expr)
            case Comprehension():
                return self._bind(expr) if expr.is_bind else self._loop(expr)
            case _:
                raise TypeError(f"not an expression: {expr!r}")

    # Attributes

    def _attribute(self, expr: Expr) -> Step:
        resolve = self.resolve(expr)
        if isinstance(expr, Select) and expr.test_only:
            return resolve

        def read(frame: Frame) -> Value:
            value = resolve(frame)
            frame.cost += SELECT_COST
            return value

        return read

    def operand(self, expr: Expr) -> Step:
        """What is selected from, or chosen by a ternary: an attribute costs only its selections."""
        return self.resolve(expr) if is_attribute(expr) and constant(expr) is NOT_CONSTANT else self.step(expr)

    def resolve(self, expr: Expr) -> Step:
        """An attribute's value, at the cost of its selections."""
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
                raise TypeError(f"not an attribute: {expr!r}")

    def _variable(self, name: str) -> Step:
        slot = self._slot(name)
        init = self.lazy.get(slot)
        if init is None:

            def read(frame: Frame) -> Value:
                value = frame.slots[slot]
                if isinstance(value, EvalError):
                    raise value
                return value

            return read

        def read_lazy(frame: Frame) -> Value:
            value = frame.slots[slot]
            if value is NOT_CONSTANT:
                try:
                    value = init(frame)
                except EvalError as error:
                    value = error
                frame.slots[slot] = value
            if isinstance(value, EvalError):
                raise value
            return value

        return read_lazy

    def _slot(self, name: str) -> int:
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        return self.globals[name.removeprefix(".")]

    def _declared(self, operand: Expr, field: str) -> FieldDeclaration | None:
        container = operand.type.params[0] if operand.type.is_optional else operand.type
        return self.environment.provider.field(container.name, field) if container.kind == "object" else None

    def _select(self, expr: Select) -> Step:
        operand = self.operand(expr.operand)
        declared = self._declared(expr.operand, expr.field)
        if expr.test_only:
            read: Callable[[Value], Value] = field_presence(expr.field, declared)
        else:
            read = field_reader(expr.field, declared)

        def select(frame: Frame) -> Value:
            container = operand(frame)
            if type(container) is Optional:
                value = read(container)
                frame.cost += costs_selection(container, value)
                return value
            frame.cost += SELECT_COST
            return read(container)

        return select

    def _optional_select(self, expr: Call) -> Step:
        operand = self.operand(expr.args[0])
        field: str = constant(expr.args[1])
        find_field = optional_field_reader(field, self._declared(expr.args[0], field))

        def select(frame: Frame) -> Value:
            found = find_field(operand(frame))
            frame.cost += found.has_value
            return found

        return select

    def _index(self, expr: Call) -> Step:
        operand = self.operand(expr.args[0])
        key = self.operand(expr.args[1])
        look = find if expr.function == "_[?_]" else index

        def get(frame: Frame) -> Value:
            container = operand(frame)
            if type(container) is Optional and not container.has_value:
                return container
            value = look(container, key(frame))
            if type(value) is not Optional or value.has_value:
                frame.cost += SELECT_COST
            return value

        return get

    def _conditional(self, expr: Call) -> Step:
        condition = self.step(expr.args[0])
        yes, no = self.operand(expr.args[1]), self.operand(expr.args[2])

        def choose_branch(frame: Frame) -> Value:
            value = condition(frame)
            if value is True:
                return yes(frame)
            if value is False:
                return no(frame)
            raise EvalError("no such overload")

        return choose_branch

    # Calls

    def _call(self, expr: Call) -> Step:
        args = expr.args if expr.target is None else [expr.target, *expr.args]
        match expr.function:
            case "_&&_":
                return self._logical(expr, decisive=False)
            case "_||_":
                return self._logical(expr, decisive=True)
            case "@not_strictly_false":
                return self._not_strictly_false(expr.args[0])
            case "or" | "orValue" if expr.overloads and expr.overloads[0].id.startswith("optional_or"):
                return self._either(args, unwrap=expr.function == "orValue")
            case "@in" if self._in_constants(expr):
                steps = [self.step(args[0])]
                items = constant(args[1])
                impl = expr.overloads[0].impl
                return lambda frame: impl(steps[0](frame), items)
        return self._plain_call(expr, args)

    @staticmethod
    def _in_constants(expr: Call) -> bool:
        """Whether the list looked in is constant and of scalars: cel-go makes it a set, which costs nothing."""
        items = constant(expr.args[1])
        return (
            items is not NOT_CONSTANT
            and isinstance(items, list)
            and len(expr.overloads) == 1
            and all(isinstance(item, bool | int | float | str) for item in items)
        )

    def _plain_call(self, expr: Call, args: list[Expr]) -> Step:
        steps = [self.step(arg) for arg in args]
        overloads = expr.overloads
        pick = chooser(expr.function, overloads)
        semantics = next((arg.type.semantics for arg in args if arg.type.semantics is not None), None)
        certain = overloads[0] if is_certain(overloads, args) else None
        impl = bound(certain, args) if certain else None
        if semantics is not None and certain is not None:
            if certain.id == "equals":
                impl = semantics.equal
            elif certain.id == "not_equals":
                impl = lambda left, right: not semantics.equal(left, right)  # noqa: E731
            elif certain.id == "add_list":
                impl = semantics.add

        def call(frame: Frame) -> Value:
            values = [step(frame) for step in steps]
            overload = certain or pick(*values)
            if not overload.by_result:
                frame.charge(1 if overload.cost is None else overload.cost(None, *values))
            result = (impl or overload.impl)(*values)
            if overload.by_result and overload.cost is not None:
                frame.charge(overload.cost(result, *values))
            if overload.id == "add_list":
                frame.charge(joined_surcharge(len(result)))
            return result

        return call

    def _logical(self, expr: Call, *, decisive: bool) -> Step:
        """``||`` (decided by true) or ``&&`` (by false): an error counts only if no term decides."""
        terms = [self.step(arg) for arg in expr.args]

        def decide(frame: Frame) -> Value:
            failed: EvalError | None = None
            for term in terms:
                try:
                    value = term(frame)
                except EvalError as error:
                    failed = failed or error.with_traceback(None)
                    continue
                if value is decisive:
                    return decisive
                if type(value) is not bool:
                    failed = failed or EvalError("no such overload")
            if failed is not None:
                raise failed
            return not decisive

        return decide

    def _not_strictly_false(self, expr: Expr) -> Step:
        inner = self.step(expr)

        def judge(frame: Frame) -> Value:
            try:
                value = inner(frame)
            except EvalError:
                value = True
            frame.cost += 1
            return value is not False

        return judge

    def _either(self, args: list[Expr], *, unwrap: bool) -> Step:
        first, second = self.step(args[0]), self.step(args[1])

        def choose_value(frame: Frame) -> Value:
            chosen = first(frame)
            if type(chosen) is not Optional:
                raise EvalError("no such overload")
            if chosen.has_value:
                return chosen.value if unwrap else chosen
            return second(frame)

        return choose_value

    # Literals

    def _list(self, expr: ListExpr) -> Step:
        items = [(self.step(item), position in expr.optional) for position, item in enumerate(expr.items)]

        def build(frame: Frame) -> Value:
            values = []
            for item, optional in items:
                value = item(frame)
                if optional:
                    if type(value) is not Optional:
                        text = f"cannot initialize optional list element from non-optional value {value}"
                        raise EvalError(text)
                    if not value.has_value:
                        continue
                    value = value.value
                values.append(value)
            frame.charge(LIST_CREATE_COST)
            return values

        return build

    def _map(self, expr: MapExpr) -> Step:
        entries = [(self.step(entry.key), self.step(entry.value), entry.optional) for entry in expr.entries]

        def build(frame: Frame) -> Value:
            values: dict[Value, Value] = {}
            for key_step, value_step, optional in entries:
                key, value = key_step(frame), value_step(frame)
                if optional:
                    value = required(key, value)
                    if not value.has_value:
                        continue
                    value = value.value
                add_entry(values, key, value)
            frame.charge(MAP_CREATE_COST)
            return values

        return build

    def _struct(self, expr: StructExpr) -> Step:
        fields = [(field.name, self.step(field.value), field.optional) for field in expr.fields]
        construct = self.environment.provider.construct

        def build(frame: Frame) -> Value:
            values: dict[str, Value] = {}
            for name, step, optional in fields:
                value = step(frame)
                if optional:
                    value = required(name, value)
                    if not value.has_value:
                        continue
                    value = value.value
                values[name] = value
            frame.charge(STRUCT_CREATE_COST)
            return construct(expr.type_name, values)

        return build

    # Loops

    def _new_slot(self) -> int:
        self.locals += 1
        return len(self.globals) + self.locals - 1

    def _bind(self, expr: Comprehension) -> Step:
        slot = self._new_slot()
        self.lazy[slot] = self.step(expr.init)
        self.scopes.append({expr.accu: slot})
        result = self.step(expr.result)
        self.scopes.pop()

        def run(frame: Frame) -> Value:
            frame.slots[slot] = NOT_CONSTANT
            return result(frame)

        return run

    def _loop(self, expr: Comprehension) -> Step:
        items = self.step(expr.iter_range)
        init = self.step(expr.init)
        accu, first, second = self._new_slot(), self._new_slot(), self._new_slot()
        self.scopes.append({expr.accu: accu})
        variables = {expr.iter_var: first}
        if expr.iter_var2:
            variables[expr.iter_var2] = second
        self.scopes.append(variables)
        condition = self.step(expr.condition)
        step = self._growing(expr, expr.step, accu) or self.step(expr.step)
        self.scopes.pop()
        result = self.step(expr.result)
        self.scopes.pop()
        two = bool(expr.iter_var2)

        def run(frame: Frame) -> Value:
            ranged = items(frame)
            slots = frame.slots
            value = init(frame)
            slots[accu] = value.copy() if isinstance(value, list | dict) else value
            for item in pairs_of(ranged) if two else items_of(ranged):
                if two:
                    slots[first], slots[second] = item
                else:
                    slots[first] = item
                if frame.cost > frame.limit:
                    raise CostExceeded
                if _holds(condition, frame) is False:
                    break
                try:
                    slots[accu] = step(frame)
                except EvalError as error:
                    slots[accu] = error.with_traceback(None)  # else it would hold every frame that it has passed
            return result(frame)

        return run

    def _growing(self, expr: Comprehension, step: Expr, accu: int) -> Step | None:
        """A step that adds to the list which is being made: in place, since nothing else has it."""
        if not isinstance(step, Call) or not isinstance(expr.init, ListExpr) or expr.init.items:
            return None
        if step.function == "_?_:_":
            grown = self._growing(expr, step.args[1], accu)
            if grown is None:
                return None
            condition, unchanged = self.step(step.args[0]), self.operand(step.args[2])

            def maybe(frame: Frame) -> Value:
                value = condition(frame)
                if type(value) is not bool:
                    raise EvalError("no such overload")
                return grown(frame) if value else unchanged(frame)

            return maybe
        is_accu = step.function == "_+_" and isinstance(step.args[0], Ident) and step.args[0].name == expr.accu
        if not is_accu:
            return None
        before, added = self.step(step.args[0]), self.step(step.args[1])

        def add(frame: Frame) -> Value:
            items = before(frame)
            items.extend(added(frame))
            frame.charge(1)
            return items

        return add


def costs_selection(container: Optional, value: Value) -> int:
    """What a selection from an optional costs: nothing if there is nothing."""
    present = value.has_value if type(value) is Optional else container.has_value
    return SELECT_COST if present else 0


def required(name: Value, value: Value) -> Optional:
    """The optional that an optional entry of a literal needs.

    Raises:
        EvalError: it is none.
    """
    if type(value) is not Optional:
        raise EvalError(f"cannot initialize optional entry '{name}' from non-optional value {value}")
    return value


def _holds(condition: Step, frame: Frame) -> Value:
    try:
        return condition(frame)
    except EvalError:
        return None


def items_of(ranged: Value) -> list[Value]:
    """What a loop of one variable goes over: items, or keys.

    Raises:
        EvalError: no list and no map.
    """
    if type(ranged) is list:
        return ranged
    if type(ranged) is dict:
        return list(ranged)
    raise EvalError("no such overload")


def pairs_of(ranged: Value) -> list[tuple[Value, Value]]:
    """What a loop of two variables goes over: indices and items, or keys and values.

    Raises:
        EvalError: no list and no map.
    """
    if type(ranged) is list:
        return list(enumerate(ranged))
    if type(ranged) is dict:
        return list(ranged.items())
    raise EvalError("no such overload")
