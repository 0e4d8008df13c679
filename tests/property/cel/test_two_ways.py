"""Compiled code and evaluation step by step agree in value, error and cost, also on what the reference has not."""

from __future__ import annotations

import os
import random

import pytest

from controlplane.cel.codegen.program import Failed, generate
from controlplane.cel.codegen.writer import Unsuited
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


def exact_outcome(run: object) -> tuple[object, int] | None:
    """The value or that there is none, and the cost; None where another way has to be taken."""
    try:
        value, cost = run(10**6, *VARIABLES.values())  # type: ignore[operator]
    except Failed as failed:
        return "an error", failed.cost
    except EvalError as error:
        return "an error", error.cost
    except Unsuited:
        return None
    return repr(value), cost


def test_absorbing_code_counts_as_step_by_step() -> None:
    chance = random.Random(1)
    failed = absorbed = 0
    for _ in range(BATCHES * PER_BATCH):
        source = extended(chance)
        try:
            program = compile_expression(source, ENVIRONMENT)
        except CompileError:
            continue
        run = generate(program.expr, ENVIRONMENT, exact=True)
        found = run and exact_outcome(run)
        if found is None:
            continue
        assert found == exact_outcome(program.plan.run), source
        failed += found[0] == "an error"
        absorbed += found[0] != "an error" and outcome(program.function, 10**6) != outcome(program.plan.run, 10**6)
    assert failed > BATCHES * 4
    assert absorbed > BATCHES // 2


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
