"""Google's C++ implementation agrees with ours on generated expressions; compiled code agrees with the careful one."""

from __future__ import annotations

import math
import os
import random

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]

from controlplane.cel.environment import Environment
from controlplane.cel.program import EvalError, Program, compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import BOOL, DOUBLE, DYN, INT, STRING, Type, list_of, map_of
from tests.property.cel.expressions import VARIABLES, expression

BATCHES = 100 if os.environ.get("CONTROLPLANE_TEST_LONG") else 5
PER_BATCH = 100
LIMIT = 10**9

TYPES: dict[str, Type] = {
    "i": INT,
    "j": INT,
    "d": DOUBLE,
    "s": STRING,
    "t": STRING,
    "b": BOOL,
    "li": list_of(INT),
    "ls": list_of(STRING),
    "m": map_of(STRING, INT),
    "o": map_of(STRING, DYN),
}
OURS = Environment([STANDARD], variables=TYPES, homogeneous_literals=False)
Outcome = tuple[str, object]


def _theirs() -> object:
    types = cel.Type
    known = {
        INT: types.INT,
        DOUBLE: types.DOUBLE,
        STRING: types.STRING,
        BOOL: types.BOOL,
        list_of(INT): types.List(types.INT),
        list_of(STRING): types.List(types.STRING),
        map_of(STRING, INT): types.Map(types.STRING, types.INT),
        map_of(STRING, DYN): types.Map(types.STRING, types.DYN),
    }
    return cel.NewEnv(variables={name: known[declared] for name, declared in TYPES.items()})


def _our_outcome(program: Program) -> tuple[Outcome, Outcome]:
    """Of compiled code (which falls back on the careful way), and of the careful way alone."""
    outcomes: list[Outcome] = []
    for run in (program.run, program.plan.run):
        try:
            outcomes.append(("value", run(LIMIT, *VARIABLES.values())))
        except EvalError as error:
            outcomes.append(("error", str(error)))
    return outcomes[0], outcomes[1]


def _their_outcome(environment: object, source: str) -> Outcome:
    try:
        value = environment.compile(source).eval(data=VARIABLES)  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001  (their binding raises what it likes)
        return "error", str(error)
    if value.type().name().lower() == "error":
        return "error", repr(value)
    return "value", value.plain_value()


def _same(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


@pytest.mark.parametrize("seed", range(BATCHES))
def test_generated_expressions_have_the_value_that_the_reference_gives(seed: int) -> None:
    chance = random.Random(seed)
    theirs = _theirs()
    values = 0
    for _ in range(PER_BATCH):
        source = expression(chance)
        program = compile_expression(source, OURS)
        fast, careful = _our_outcome(program)
        assert repr(fast) == repr(careful), source
        if fast == ("error", "NaN values cannot be ordered"):
            continue  # cel-go's word; the C++ implementation says false
        outcome = _their_outcome(theirs, source)
        assert fast[0] == outcome[0], (source, fast, outcome)
        if fast[0] == "value":
            assert isinstance(fast[1], tuple)
            assert _same(fast[1][0], outcome[1]), (source, fast, outcome)
            values += 1
    assert values > PER_BATCH // 3
