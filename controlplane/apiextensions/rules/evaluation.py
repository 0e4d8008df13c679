"""Rules at work: every value of an object against the rules of its schema, within a budget.

What has not changed may go on breaking a rule, unless the rule is about the change.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from time import perf_counter
from typing import Any

from controlplane.apiextensions.rules.compiled import Rule, compile_rules, each_rule
from controlplane.apiextensions.rules.metrics import EVALUATION_SECONDS
from controlplane.apiextensions.rules.presence import has_rules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.correlation import ABSENT, old_item, unchanged
from controlplane.apimachinery.schema.nodes import TYPE_FIELDS, Node
from controlplane.apimachinery.schema.rules.declarations import Declared, declare
from controlplane.apimachinery.schema.rules.readers import reader
from controlplane.apimachinery.validation.field import (
    OMITTED,
    FieldError,
    duplicate,
    forbidden,
    go_quoted,
    invalid,
    required,
)
from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.values import NONE, Optional

__all__ = ["OBJECT_BUDGET", "RULE_LIMIT", "DefaultRules", "SchemaRules"]

RULE_LIMIT = 1_000_000
"""What one evaluation may cost: about a tenth of a second. Upstream's figure."""
OBJECT_BUDGET = 10_000_000
"""What all evaluations for one object may cost. Upstream's figure."""
_MAX_MESSAGE_BYTES = 5 * 1024
_NO_BUDGET = "failed due to running out of cost budget, no further validation rules will be run"
_OUT_OF_BUDGET = f"validation {_NO_BUDGET}"
_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_BLOCKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


class _Stop(Exception):
    """No further rules are run; the error is recorded."""


class SchemaRules:
    """The rules of a version's schema and of all below it. They are compiled when values reach them, unless all have
    been before (``compile_steps``)."""

    __slots__ = ("_root", "_schema")

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._root: _RuleNode | None = None

    def compile_steps(self) -> Iterator[None]:
        """Compile all rules; there may be a break at each None."""
        if self._root is None:
            self._root = _root(self._schema, is_root=True)
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            yield from node.compile_steps()
            waiting += node.inner()

    def complete(self, errors: list[FieldError], obj: Obj, old: Obj | None) -> list[FieldError]:
        """The errors that were found so far, and what the object breaks: unless values are not even of their types."""
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, invalid("<nil>", None, _BLOCKED)]
        return errors + self.errors(obj, old)

    def errors(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """What an object breaks. ``old``: what it replaces."""
        return self._run(obj, old).found

    def let_off(self, obj: Obj, old: Obj) -> list[str]:
        """What an object breaks and may go on breaking, since it did before: a client is warned of it."""
        return [str(error) for error in self._run(obj, old).let_off]

    def _run(self, obj: Obj, old: Obj | None) -> _Run:
        if self._root is None:
            self._root = _root(self._schema, is_root=True)
        run, began = _Run(), perf_counter()
        with suppress(_Stop):
            run.value(_Place(None, self._root, "", obj, ABSENT if old is None else old))
        EVALUATION_SECONDS.observe(perf_counter() - began)
        return run


class DefaultRules:
    """The rules of a version's schema for the defaults in it, which share one object's budget: a ``RuleCheck``."""

    __slots__ = ("_budget",)

    def __init__(self, budget: int = OBJECT_BUDGET) -> None:
        self._budget = budget

    @property
    def exhausted(self) -> bool:
        """Whether the budget is gone: no further default is looked at."""
        return self._budget < 0

    def errors(self, schema: Obj, default: Any, path: str, *, is_root: bool) -> list[FieldError]:
        """What a default breaks, when it was there before and when it is new: the dearer of the two counts.

        ``is_root``: the schema is of a whole object, embedded or not.
        """
        if not has_rules(schema):
            return []
        root, budget = _root(schema, is_root=is_root), self._budget
        for old in (default, ABSENT):
            run = _Run(budget, keep_old=False)
            try:
                run.value(_Place(None, root, path, default, old))
            except _Stop:
                run.budget = -1
            self._budget = min(self._budget, run.budget)
            if run.found:
                return run.found
        return []


def _root(schema: Obj, *, is_root: bool) -> _RuleNode:
    return _RuleNode(Node(schema, embedded=is_root), declare(schema, is_root=is_root))


class _RuleNode:
    """One schema that has rules, or has some below. Its children are made when values reach them."""

    __slots__ = ("_children", "_extra", "_items", "_read", "_rules", "declared", "node")

    def __init__(self, node: Node, declared: Declared | None) -> None:
        self.node = node
        self.declared = declared
        self._rules: list[Rule] | None = None
        self._read: Callable[[Any], Any] | None = None
        self._children: dict[str, _RuleNode | None] = {}
        self._items: _RuleNode | None = None
        self._extra: _RuleNode | None = None

    def read(self, value: Any) -> Any:
        """The value as expressions have it.

        Raises:
            EvalError: a text has not the form that the schema's format says.
        """
        if self._read is None:
            self._read = reader(self.node.schema) or _as_it_is
        return self._read(value)

    @property
    def rules(self) -> list[Rule]:
        """The schema's own rules."""
        if self._rules is None:
            self._rules = [] if self.declared is None else compile_rules(self.declared)
        return self._rules

    def compile_steps(self) -> Iterator[None]:
        """Compile the schema's own rules; there may be a break at each None."""
        if self._rules is None and self.declared is not None:
            rules = []
            for rule in each_rule(self.declared):
                rules.append(rule)
                yield None
            self._rules = rules

    def inner(self) -> Iterator[_RuleNode]:
        """The nodes right below that have rules, or have some below."""
        found = [self.child(name) for name in self.node.properties]
        for node in (*found, self.items, self._other_fields()):
            if node is not None:
                yield node

    @property
    def knows_old_self(self) -> bool:
        """Whether there is an oldSelf for messages: only where a rule asks for it."""
        return any(rule.uses_old_self for rule in self.rules)

    def child(self, name: str) -> _RuleNode | None:
        """Of a field; None if there are no rules below."""
        if name not in self._children:
            if name not in self.node.properties and self.node.extra is not None:
                return self._other_fields()
            self._children[name] = _rule_node(self.node.child(name))
        return self._children[name]

    def _other_fields(self) -> _RuleNode | None:
        if self._extra is None:
            self._extra = _rule_node(self.node.additional)
        return self._extra

    @property
    def items(self) -> _RuleNode | None:
        """Of a list's items; None if there are no rules below."""
        if self._items is None:
            self._items = _rule_node(self.node.items)
        return self._items


def _as_it_is(value: Any) -> Any:
    return value


def _rule_node(node: Node | None) -> _RuleNode | None:
    if node is None or not has_rules(node.schema):
        return None
    return _RuleNode(node, declare(node.schema, is_root=node.embedded))


class _Place:
    """A value where it stands in an object, and what stood there before."""

    __slots__ = ("_unchanged", "node", "old", "parent", "path", "value")

    def __init__(self, parent: _Place | None, node: _RuleNode, path: str, value: Any, old: Any) -> None:
        self.parent, self.node, self.path, self.value, self.old = parent, node, path, value, old
        self._unchanged: bool | None = None

    def unchanged(self) -> bool:
        """Whether it is what it was, or lies in something that is: then it may go on breaking rules."""
        if self._unchanged is None:
            within = self.parent is not None and self.parent.unchanged()
            self._unchanged = within or unchanged(self.node.node, self.value, self.old)
        return self._unchanged

    def never_unchanged(self) -> None:
        """It may not go on breaking rules."""
        self._unchanged = False


class _Run:
    """One object's evaluation. ``keep_old``: what has not changed may go on breaking rules."""

    __slots__ = ("budget", "found", "keep_old", "let_off")

    def __init__(self, budget: int = OBJECT_BUDGET, *, keep_old: bool = True) -> None:
        self.budget = budget
        self.keep_old = keep_old
        self.found: list[FieldError] = []
        self.let_off: list[FieldError] = []

    def value(self, place: _Place) -> None:
        """A value and all below it."""
        node, value, old = place.node, place.value, place.old
        if value is None:
            return
        for rule in node.rules:
            self._rule(rule, place)
        if type(value) is list:
            items = node.items
            if items is not None:
                for i, item in enumerate(value):
                    self.value(_Place(place, items, f"{place.path}[{i}]", item, old_item(node.node, item, old)))
        elif type(value) is dict:
            for name, item in value.items():
                below = node.child(name)
                if below is None:
                    continue
                before = old.get(name) if type(old) is dict else None
                before = ABSENT if before is None else before  # null is no old value
                path = f"{place.path}[{name}]"
                if name in node.node.properties:
                    path = f"{place.path}.{name}" if place.path else name
                inner = _Place(place, below, path, item, before)
                if place.parent is None and name in TYPE_FIELDS:
                    inner.never_unchanged()  # both objects are of this type now, whatever they were
                self.value(inner)

    def _rule(self, rule: Rule, place: _Place) -> None:
        node, path, value, old = place.node, place.path or "<nil>", place.value, place.old
        kind = node.node.schema.get("type") or ""
        if self.budget <= 0:
            self._stop(invalid(path, kind, _OUT_OF_BUDGET))
        if rule.error:
            self.found.append(invalid(path, kind, f"rule compile error: {rule.error}"))
            return
        if rule.program is None or (rule.uses_old_self and old is ABSENT and not rule.optional_old_self):
            return
        shown = (rule.given.get("message") or "").strip() or rule.given["rule"].strip()
        try:
            own, before = node.read(value), ABSENT if old is ABSENT else node.read(old)
            old_self = before
            if rule.optional_old_self:
                old_self = NONE if before is ABSENT else Optional(before)
            holds, cost = rule.program.run(RULE_LIMIT, own, old_self)
        except CostExceeded as error:
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._spend(RULE_LIMIT + 1, invalid(path, kind, _OUT_OF_BUDGET))
            self._stop(invalid(path, kind, f"'{error}': {why}: {shown}"))
            return
        except EvalError as error:
            self._spend(error.cost, invalid(path, kind, _OUT_OF_BUDGET))
            self.found.append(invalid(path, kind, _failed(error, shown)))
            return
        self._spend(cost, invalid(path, kind, _OUT_OF_BUDGET))
        if holds is True:
            return
        at = path
        if rule.path:
            at = rule.path if path == "<nil>" else f"{path}.{rule.path}"  # even before a bracket
        message = self._message(rule, at, own, before, place)
        given = OMITTED if kind in ("object", "array") else value
        kept = self.keep_old and not rule.uses_old_self and place.unchanged()
        (self.let_off if kept else self.found).append(_violation(rule.given.get("reason"), at, given, message))

    def _message(self, rule: Rule, path: str, value: Any, before: Any, place: _Place) -> str:
        """What a violation is explained by. An expression for it sees the bare ``oldSelf``, also where the rule has an
        optional; reading it is an error where there is none, or no rule asks for it."""
        given = (rule.given.get("message") or "").strip()
        default = given or f"failed rule: {rule.given['rule'].strip()}"
        if rule.message is None:
            return default
        kind, source = place.node.node.schema.get("type") or "", rule.given["messageExpression"]
        try:
            if rule.message_uses_old_self and (before is ABSENT or not place.node.knows_old_self):
                text, cost = rule.message.plan.run(RULE_LIMIT, value, EvalError("no such attribute(s): oldSelf"))
            else:
                text, cost = rule.message.run(RULE_LIMIT, value, before)
        except CostExceeded:
            why = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
            self._stop(invalid(path, kind, f"{why}: {go_quoted(source)}"))
            return default
        except EvalError as error:
            self._spend(error.cost, invalid(path, kind, f"messageExpression evaluation {_NO_BUDGET}"))
            return default
        self._spend(cost, invalid(path, kind, f"messageExpression evaluation {_NO_BUDGET}"))
        text = text.strip()
        if not text or "\n" in text or len(text.encode()) > _MAX_MESSAGE_BYTES:
            return default
        return str(text)

    def _spend(self, cost: int, error: FieldError) -> None:
        if cost > self.budget:
            self._stop(error)
        self.budget -= cost

    def _stop(self, error: FieldError) -> None:
        self.found.append(error)
        raise _Stop


def _failed(error: EvalError, rule: str) -> str:
    if str(error).startswith("no such overload"):
        why = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {why}: {rule}"
    return f"{error} evaluating rule: {rule}"


def _violation(reason: str | None, path: str, value: Any, message: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(path, message)
        case "FieldValueRequired":
            return required(path, message)
        case "FieldValueDuplicate":
            return duplicate(path, value)
        case _:
            return invalid(path, value, message)
