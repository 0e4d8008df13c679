"""The rules of one schema, compiled: programs, what they can cost at most, and what is wrong with them.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/cel/compilation.go``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from time import perf_counter

from controlplane.apiextensions.definition.validation.field_paths import FieldPathError, resolve_field_path
from controlplane.apiextensions.rules.metrics import COMPILATION_SECONDS
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.declarations import Declared, SchemaTypes
from controlplane.base.values import dataclass
from controlplane.cel.ast import Ident
from controlplane.cel.check.validators import walk
from controlplane.cel.environment import Environment
from controlplane.cel.errors import CompileError
from controlplane.cel.estimate import estimate_cost
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.program import Program, ProgramError, compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import BOOL, STRING, Type, optional_of

__all__ = ["Rule", "compile_rules", "each_rule"]


@dataclass(slots=True)
class Rule:
    """One entry of ``x-kubernetes-validations``.

    ``program`` is None if the rule is empty or wrong (``error``). ``most`` and ``message_most``: what one evaluation
    costs at most. ``path``: the field that a violation is reported at, below the value (``.a['b']`` as ``a[b]``).
    """

    given: Obj
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    most: int = 0
    message: Program | None = None
    message_error: str = ""
    message_most: int = 0
    message_uses_old_self: bool = False
    path: str = ""

    @property
    def optional_old_self(self) -> bool:
        """Whether ``oldSelf`` is an optional, and the rule holds where there is none."""
        return bool(self.given.get("optionalOldSelf"))


@lru_cache(maxsize=1)
def _base() -> Environment:
    return Environment([STANDARD, *libraries()])


_KEPT: OrderedDict[bytes, list[Rule]] = OrderedDict()
_MAX_KEPT = 2048
"""Schemas whose compiled rules are kept. A rule takes a millisecond to compile and is wanted twice at least, when its
definition is judged and when objects are, and again by versions that share it; ten kilobytes stay of it."""


def compile_rules(declared: Declared) -> list[Rule]:
    """The rules that a schema has, in order."""
    return list(each_rule(declared))


def each_rule(declared: Declared) -> Iterator[Rule]:
    """The same one by one, so that there may be a break between them."""
    given = declared.schema.get("x-kubernetes-validations") or ()
    key = blake2b(dumps(declared.schema), digest_size=16).digest()
    known = _KEPT.get(key)
    if known is not None:
        _KEPT.move_to_end(key)
        yield from known
        return
    types = SchemaTypes(declared)
    plain, optional = _environment(declared.type, declared.type, types), None
    rules, seconds = [], 0.0
    for entry in given:
        began = perf_counter()
        environment = plain
        if entry.get("optionalOldSelf"):
            optional = optional or _environment(declared.type, optional_of(declared.type), types)
            environment = optional
        rules.append(_rule(entry, declared, environment))
        seconds += perf_counter() - began
        yield rules[-1]
    COMPILATION_SECONDS.observe(seconds)
    _KEPT[key] = rules
    if len(_KEPT) > _MAX_KEPT:
        _KEPT.popitem(last=False)


def _environment(own: Type, old: Type, types: SchemaTypes) -> Environment:
    return _base().extend({"self": own, "oldSelf": old}, types)


def _rule(given: Obj, declared: Declared, environment: Environment) -> Rule:
    rule = Rule(given)
    source = given.get("rule") or ""
    if not source.strip():
        return rule
    try:
        program = compile_expression(source, environment)
    except CompileError as error:
        rule.error = f"compilation failed: {error}"
        return rule
    except ProgramError as error:
        rule.error = f"program instantiation failed: {error}"
        return rule
    if program.type != BOOL:
        rule.error = "cel expression must evaluate to a bool"
        return rule
    rule.program = program
    rule.uses_old_self = _uses_old_self(program)
    rule.most = estimate_cost(program.expr, declared.sizes).most
    if given.get("messageExpression"):
        _compile_message(rule, declared, environment)
    if given.get("fieldPath"):
        rule.path = _normalized(given["fieldPath"], declared.schema)
    return rule


def _uses_old_self(program: Program) -> bool:
    return any(isinstance(node, Ident) and node.name == "oldSelf" for node in walk(program.expr))


def _compile_message(rule: Rule, declared: Declared, environment: Environment) -> None:
    try:
        program = compile_expression(rule.given["messageExpression"], environment)
    except CompileError as error:
        rule.message_error = f"messageExpression compilation failed: {error}"
        return
    except ProgramError as error:
        rule.message_error = f"messageExpression instantiation failed: {error}"
        return
    if program.type != STRING:
        rule.message_error = "messageExpression must evaluate to a string"
        return
    rule.message = program
    rule.message_uses_old_self = _uses_old_self(program)
    rule.message_most = estimate_cost(program.expr, declared.sizes).most


def _normalized(path: str, schema: Obj) -> str:
    """A field path as errors show it: properties by a dot, a map's keys in brackets."""
    try:
        names, _ = resolve_field_path(path, schema)
    except FieldPathError:
        return ""
    shown = ""
    for name in names:
        properties = schema.get("properties")
        if properties:
            shown += f".{name}" if shown else name
            schema = properties[name]
        else:
            shown += f"[{name}]"
            schema = schema["additionalProperties"]
    return shown
