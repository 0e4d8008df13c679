"""Definitions and objects made to cost: refused, or judged in stretches, each far below 100 ms."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.codec.json import TooDeep, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema
from controlplane.apimachinery.schema.decode import Decoder
from tests.custom_resources import definition, real_definitions

pytestmark = pytest.mark.alone

STRETCH_SECONDS = 0.1
"""Of this thread's own time; a hundred times what the sizes here need."""
DECODER = Decoder("CustomResourceDefinition", DEFINITIONS.versions[0].schema)
TEXT = {"type": "string"}


def nested(depth: int, around: Callable[[Obj], Obj], inner: Obj) -> Obj:
    for _ in range(depth):
        inner = around(inner)
    return inner


def judged(schema: Obj) -> tuple[list[str], float]:
    """What is wrong with a definition, and the longest stretch that the loop was held for, in seconds."""
    crd = definition()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {"a": schema}}
    raw = dumps(crd)
    if DEFINITIONS.strategy.load is not None and (missing := DEFINITIONS.strategy.load(raw)) is not None:
        missing()  # which a server does in a thread
    obj: Any = loads(raw)
    DECODER.decode(obj)
    DEFINITIONS.strategy.default(obj)
    DEFINITIONS.strategy.prepare_for_create(obj)
    errors, worst, last = [], 0.0, time.thread_time()
    for found in DEFINITIONS.strategy.validate(obj):
        now = time.thread_time()
        worst, last = max(worst, now - last), now
        if found is not None:
            errors.append(str(found))
    return errors, worst


def fields(count: int, schema: Callable[[int], Obj]) -> Obj:
    return {"type": "object", "properties": {f"p{i}": schema(i) for i in range(count)}}


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        pytest.param(nested(100, lambda s: {"type": "object", "properties": {"b": s}}, TEXT), "", id="deep"),
        pytest.param({"type": "object", **nested(100, lambda s: {"allOf": [s]}, {})}, "", id="deep junctors"),
        pytest.param(
            {"type": "object", "anyOf": [{"required": [f"x{i}"]} for i in range(3000)]}, "", id="many junctors"
        ),
        pytest.param(fields(8000, lambda _: TEXT), "", id="wide"),
        pytest.param(fields(4000, lambda _: {}), "must not be empty for specified object fields", id="many errors"),
        pytest.param({"type": "string", "pattern": "((a{100}){100}){100}"}, "invalid repeat", id="repeated repetition"),
        pytest.param({"type": "string", "pattern": "(a{900}){900}"}, "error parsing regexp", id="large repetition"),
        pytest.param({"type": "string", "pattern": "(" * 900 + "a+" + ")" * 900}, "", id="nested groups"),
        pytest.param({"type": "string", "pattern": "^(a|aa|a*)*$"}, "", id="catastrophe elsewhere"),
        pytest.param(
            fields(200, lambda i: {"type": "string", "pattern": f"^(x{i}|[a-z]+)*y{{1,50}}$"}), "", id="many patterns"
        ),
        pytest.param({"type": "string", "enum": [f"v{i}" for i in range(20_000)]}, "", id="enum"),
        pytest.param({"$ref": "#/properties/a", "type": "object"}, "$ref is not supported", id="a reference to itself"),
        pytest.param(
            {"type": "object", "definitions": {"a": {"$ref": "#/definitions/a"}}}, "is not supported", id="definitions"
        ),
        pytest.param(
            fields(800, lambda _: {"type": "object", "properties": {"x": TEXT}, "default": {"z": 1}}),
            "must not have unknown fields",
            id="many defaults",
        ),
    ],
)
def test_definitions(schema: Obj, refused: str) -> None:
    errors, worst = judged(schema)
    assert worst < STRETCH_SECONDS
    assert len(errors) <= 501
    assert (refused in errors[0]) if refused else errors == []


def test_what_is_nested_too_deep_to_be_written_is_refused() -> None:
    deep = json.dumps(nested(400, lambda s: {"type": "array", "items": s}, TEXT)).encode()
    with pytest.raises(TooDeep):
        dumps(loads(deep))


def test_a_pattern_that_is_refused_is_compiled_once() -> None:
    schema = {"type": "string", "pattern": "(\\pL|\\pN){1,901}\\pL{500}"}
    started = time.thread_time()
    judged(schema)
    once = time.thread_time() - started
    started = time.thread_time()
    for _ in range(5):
        judged(schema)
    assert time.thread_time() - started < 5 * once


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        pytest.param({"type": "array", "items": {"type": "integer"}}, ["x"] * 20_000, 500, id="wrong items"),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {f"k{i}": "x" for i in range(10_000)},
            500,
            id="wrong fields",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            [f"x{i // 2}" for i in range(10_000)],
            500,
            id="repeated items",
        ),
        pytest.param({"type": "string", "pattern": "^(a+)+$"}, "a" * 50_000 + "!", 1, id="catastrophic pattern"),
        pytest.param({"type": "string", "pattern": "^(a|aa|aaa)*$"}, "a" * 50_000 + "!", 1, id="another"),
        pytest.param(
            nested(100, lambda s: {"type": "array", "items": s}, {"type": "integer"}),
            json.loads("[" * 100 + '"x"' + "]" * 100),
            1,
            id="deep",
        ),
    ],
)
def test_objects(schema: Obj, value: Any, errors: int) -> None:
    custom = CustomSchema({"type": "object", "properties": {"a": schema}})
    obj = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a"}, "a": value}
    started = time.thread_time()
    custom.decode(obj)
    assert not custom.fits(obj)
    assert len([*custom.validate(obj), *custom.list_errors(obj, None)]) == errors
    assert time.thread_time() - started < STRETCH_SECONDS


def test_a_definition_of_half_a_megabyte_is_judged_in_pieces() -> None:
    large = max(real_definitions(), key=lambda crd: len(dumps(crd)), default=None)
    if large is None:
        pytest.skip("the shared data are not here")
    obj: Any = loads(dumps(large))
    DECODER.decode(obj)
    DEFINITIONS.strategy.default(obj)
    DEFINITIONS.strategy.prepare_for_create(obj)
    list(DEFINITIONS.strategy.validate(obj))  # what is imported late is there now
    pieces, last = [], time.thread_time()
    for found in DEFINITIONS.strategy.validate(obj):
        assert found is None
        now = time.thread_time()
        pieces.append(now - last)
        last = now
    assert len(pieces) > 100
    assert max(pieces) < sum(pieces) / 3
