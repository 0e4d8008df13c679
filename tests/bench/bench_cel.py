"""Expressions: evaluation beside a closure written by hand and beside Google's C++ runtime; compilation.

The closure is measured in the same run, so that the machine's pace does not count.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.declarations import SchemaTypes, declare
from controlplane.cel.environment import Environment
from controlplane.cel.program import compile_expression
from controlplane.cel.standard.library import STANDARD
from tests.bench.report import Row

__all__ = ["expressions"]

RULE = "self.replicas <= self.maxReplicas && self.items.all(i, i.name.matches('^[a-z]+$'))"
RULES = (
    RULE,
    "self.replicas <= self.maxReplicas",
    "has(self.mode) && self.mode in ['fast', 'safe', 'none']",
    "!has(self.mode) || self.mode != 'none' || self.replicas == 0",
    "self.items.exists(i, i.name == 'default')",
    "self.items.map(i, i.name).size() == size(self.items)",
    "self.mode.startsWith('f') && size(self.mode) < 10",
)
"""As rules of custom resources go."""
SCHEMA: Obj = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "maxReplicas": {"type": "integer"},
        "mode": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}
LIMIT = 1_000_000


def expressions() -> Iterator[Row]:
    """Ratio to the closure for 3 and 20 items; speed beside the C++ runtime."""
    environment = _environment()
    program = compile_expression(RULE, environment)
    for items, most in ((3, 2.3), (20, 2.3)):
        value = _value(items)
        ours, by_hand = _fastest(partial(program.run, LIMIT, value), partial(_closure, value))
        detail = {"us": round(ours, 3), "closure_us": round(by_hand, 3)}
        yield Row(
            name=f"cel: rule over {items} items",
            value=ours / by_hand,
            target=most,
            unit="x a closure",
            at_most=True,
            detail=detail,
        )
    yield from _beside_theirs(environment)


def _environment() -> Environment:
    declared = declare(SCHEMA)
    assert declared is not None
    return Environment([STANDARD], variables={"self": declared.type}, provider=SchemaTypes(declared))


def _value(items: int) -> Obj:
    names = [{"name": "abcdefgh"[: 3 + i % 5]} for i in range(items)]
    return {"replicas": 3, "maxReplicas": 5, "mode": "fast", "items": names}


_SEARCH = re.compile("^[a-z]+$").search


def _closure(value: Obj) -> bool:
    """What one would write by hand."""
    return value["replicas"] <= value["maxReplicas"] and all(_SEARCH(item["name"]) for item in value["items"])


def _beside_theirs(environment: Environment) -> Iterator[Row]:
    theirs = cel.NewEnv(variables={"self": cel.Type.DYN})
    value = _value(3)
    slowest = float("inf")
    detail: dict[str, str] = {}
    for rule in RULES:
        ours_program, their_program = compile_expression(rule, environment), theirs.compile(rule)
        ours, other = _fastest(partial(ours_program.run, LIMIT, value), partial(_their_value, their_program, value))
        detail[rule[:40]] = f"{ours:.2f} / {other:.2f} us"
        slowest = min(slowest, other / ours)
    yield Row(name="cel: evaluation beside C++", value=slowest, target=5, unit="x as fast, at least", detail=detail)
    ours, other = _fastest(
        lambda: compile_expression(RULE, environment).function, lambda: theirs.compile(RULE), turns=100
    )
    times = {"us": round(ours), "theirs_us": round(other)}
    yield Row(name="cel: compilation", value=ours, target=3000, unit="us", at_most=True, detail=times)


def _their_value(program: Any, value: Obj) -> object:
    return program.eval(data={"self": value}).plain_value()


def _fastest(first: Callable[[], object], second: Callable[[], object], *, turns: int = 300) -> tuple[float, float]:
    """Microseconds of processor time of each of two calls: the best of many short rounds, one after the other."""
    best = [float("inf"), float("inf")]
    for _ in range(60):
        for place, call in enumerate((first, second)):
            start = time.thread_time()
            for _ in range(turns):
                call()
            best[place] = min(best[place], (time.thread_time() - start) / turns * 1e6)
    return best[0], best[1]
