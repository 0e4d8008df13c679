"""Compiled code and evaluation step by step agree in value, error and cost, also on what the reference has not."""

from __future__ import annotations

import os
import random

import pytest

from controlplane.cel.environment import Environment
from controlplane.cel.errors import CostExceeded
from controlplane.cel.program import CompileError, EvalError, compile_expression
from controlplane.cel.standard.comprehensions import BINDINGS, TWO_VARIABLES
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.standard.optionals import OPTIONALS
from tests.property.cel.expressions import VARIABLES, expression
from tests.property.cel.test_oracle import TYPES

BATCHES = 60 if os.environ.get("CONTROLPLANE_TEST_LONG") else 4
PER_BATCH = 60
ENVIRONMENT = Environment([STANDARD, OPTIONALS, TWO_VARIABLES, BINDINGS], variables=TYPES, homogeneous_literals=False)
FORMS = (
    "o.?name.orValue(dyn({string}))",
    "o.?{name}.hasValue() ? {int} : {int}",
    "o.?deep.?{name}.orValue(dyn({bool}))",
    "o[?{string}].hasValue()",
    "li[?{int}].orValue({int})",
    "li[?{int}].optMap(v, v + {int}).orValue({int})",
    "ls[?{int}].or(ls[?{int}]).orValue({string})",
    "has(o.?deep.{name})",
    "o.?deep.flag.hasValue() || {bool}",
    "[?li[?{int}], {int}].size()",
    "{{?'a': li[?{int}], 'b': {int}}}.size()",
    "{{{string}: {int}, {string}: {int}}}",
    "cel.bind(y, {int}, {bool} ? y + {int} : y)",
    "cel.bind(y, {int}, {bool} ? {int} : y)",
    "cel.bind(y, {list}, y.size() + y.map(z, z + {int}).size())",
    "li.all(i, v, v > i || {bool})",
    "ls.exists(i, v, v == {string} && i < {int})",
    "li.exists_one(i, v, v == i + {int})",
    "li.transformList(i, v, v > {int}, v + i)",
    "m.transformMap(k, v, v + {int})",
    "m.transformMapEntry(k, v, {{string(v): k + {string}}})",
    "o.tags.all(t, t != {string} || {bool})",
    "o.deep.map(k, k + {string}).size()",
    "o.tags.exists(i, t, t == {string} && i < {int})",
    "o.{name}.filter(t, t == {string}).size()",
    "m.all(k, v, k != {string} && v < {int})",
    "({bool} ? o : m).{name} == {int}",
    "({bool} ? li : [1]).all(x, x > {int} ? true : {bool})",
    "optional.of({int}).value() + optional.ofNonZeroValue({int}).orValue({int})",
)
KINDS = ("string", "int", "bool", "list")


def extended(chance: random.Random) -> str:
    """One of the forms, perhaps under an operator that absorbs errors."""
    parts = {kind: expression(chance, kind, depth=2) for kind in KINDS}
    made = chance.choice(FORMS).format(**parts, name=chance.choice(("name", "size", "deep", "flag", "nope")))
    if chance.random() < 0.5:
        other = expression(chance, "bool", depth=2)
        made = f"({made}) == ({made}) {chance.choice(('&&', '||'))} {other}"
    return made


def outcome(run: object, limit: int) -> object:
    try:
        return run(limit, *VARIABLES.values())  # type: ignore[operator]
    except (EvalError, CostExceeded, LookupError, ArithmeticError, TypeError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("seed", range(BATCHES))
def test_both_ways_agree(seed: int) -> None:
    chance = random.Random(seed)
    values = 0
    for _ in range(PER_BATCH):
        source = extended(chance)
        try:
            program = compile_expression(source, ENVIRONMENT)
        except CompileError:
            continue  # types that do not fit
        careful = outcome(program.plan.run, 10**6)
        assert repr(outcome(program.run, 10**6)) == repr(careful), source
        if outcome(program.function, 10**6) == careful and isinstance(careful, tuple) and isinstance(careful[1], int):
            values += 1  # and no error on the way, so that the limit holds to the unit
            cost = careful[1]
            assert outcome(program.run, cost) == careful, source
            if cost:
                stopped = outcome(program.run, cost - 1)
                assert stopped == ("CostExceeded", "operation cancelled: actual cost limit exceeded"), source
    assert values > PER_BATCH // 4
