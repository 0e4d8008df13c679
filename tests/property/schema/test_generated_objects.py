"""Objects made from schemas: valid ones are accepted, unchanged but for defaults; a fault has its cause."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.apimachinery.codec.json import dumps, dumps_sorted, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema
from tests.crds import CRDS, published_crds
from tests.schema_objects import Maker, Unmakeable, Violation, violations

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
OBJECTS = 20 if LONG else 2
FAULTS = 400 if LONG else 25
AREAS = ["argo-cd", "cert-manager", "gateway-api", "prometheus-operator", "kcc"]


def _object(**fields: Obj) -> Obj:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def _list(items: Obj, **more: Any) -> Obj:
    return {"type": "array", "items": items, **more}


_KEYED = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
OWN = {
    "strings": _object(
        a={"type": "string", "minLength": 2, "maxLength": 5},
        b={"type": "string", "pattern": "^[a-z]{2,4}-[0-9]+$"},
        c={"type": "string", "enum": ["x", "y"]},
        d={"type": "string", "format": "date-time"},
        e={"type": "string", "nullable": True},
    ),
    "numbers": _object(
        a={"type": "integer", "minimum": 1, "maximum": 5},
        b={"type": "integer", "format": "int32", "multipleOf": 3},
        c={"type": "number", "minimum": 0, "exclusiveMinimum": True},
        d={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        e={"type": "integer", "maximum": 7, "exclusiveMaximum": True},
    ),
    "lists": _object(
        a=_list({"type": "string"}, minItems=1, maxItems=3),
        b=_list({"type": "string"}, **{"x-kubernetes-list-type": "set"}),
        c=_list(_KEYED, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
        d=_list(_list({"type": "integer", "minimum": 0})),
    ),
    "objects": _object(
        a={"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
        b={"type": "object", "required": ["x", "y"], "properties": {"x": {"type": "string"}, "y": {"type": "boolean"}}},
        c={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        d={"type": "object", "properties": {"x": {"type": "string", "default": "dflt"}, "y": {"type": "integer"}}},
    ),
    "junctors": _object(
        a={
            "type": "object",
            "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
            "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
        },
        b={"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]},
    ),
}


def _schemas(area: str) -> Iterator[tuple[str, Obj]]:
    for crd in published_crds(area):
        for version in crd["spec"]["versions"]:
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if schema:
                yield f"{crd['metadata']['name']}/{version['name']}", schema


def _whole(value: Obj) -> Obj:
    return {**value, "apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}


def valid_objects(schema: Obj, count: int) -> Iterator[Obj]:
    """Objects of a schema, as many as can be made."""
    for seed in range(count):
        try:
            yield _whole(Maker(seed, fields=0.4).value(schema))
        except Unmakeable:
            continue


def _one_of_them(value: Any, schema: Obj) -> bool:
    """Whether a value was made with a branch of a junctor that another branch may contradict."""
    text = dumps(schema)
    return b'"oneOf"' in text or b'"not"' in text or b'"anyOf"' in text


def check_valid(schema: Obj, obj: Obj, name: str) -> bool:
    """A generated object is accepted; False if a junctor refuses it, which the generator does not foresee."""
    custom = CustomSchema(schema)
    taken = copy.deepcopy(obj)
    assert custom.decode(taken) == [], name
    before = loads(dumps(taken))
    custom.default(taken)
    if not custom.fits(taken):
        assert custom.validate(taken) or custom.list_errors(taken, None), f"{name}: both roads agree"
        assert _one_of_them(taken, schema), (name, [str(e) for e in custom.validate(taken)])
        return False
    assert custom.validate(taken) == [], name
    assert custom.list_errors(taken, None) == [], name
    assert _without_added(taken, before) == before, f"{name}: nothing but defaults is added"
    again = copy.deepcopy(taken)
    assert custom.default(again) is False, f"{name}: defaults are added once"
    return True


def _without_added(value: Any, before: Any) -> Any:
    if type(value) is dict and type(before) is dict:
        return {key: _without_added(value[key], before[key]) for key in before}
    if type(value) is list and type(before) is list and len(value) == len(before):
        return [_without_added(*pair) for pair in zip(value, before, strict=True)]
    return value


def check_fault(schema: Obj, fault: Violation, name: str) -> None:
    """An object with one fault is refused with its cause, by both roads."""
    custom = CustomSchema(schema)
    obj = copy.deepcopy(fault.obj)
    custom.decode(obj)
    custom.default(obj)
    assert not custom.fits(obj), f"{name}: {fault.keyword} at {fault.field} is accepted: {dumps_sorted(fault.obj)!r}"
    errors = [*custom.validate(obj), *custom.list_errors(obj, None)]
    found = {(error.reason, error.field) for error in errors}
    assert (fault.reason, fault.field) in found, f"{name}: {fault.keyword}: {[str(error) for error in errors]}"


@pytest.mark.parametrize("name", OWN)
def test_small_schemas(name: str) -> None:
    schema, keywords = OWN[name], Counter[str]()
    made = [obj for obj in valid_objects(schema, 200 if LONG else 60) if check_valid(schema, obj, name)]
    assert len(made) > 30
    for obj in made[:20]:
        for fault in violations(obj, schema, limit=1000):
            check_fault(schema, fault, name)
            keywords[fault.keyword] += 1
    expected = {
        "strings": {"type", "minLength", "maxLength", "pattern", "enum", "format"},
        "numbers": {"type", "minimum", "maximum"},
        "lists": {"type", "minItems", "maxItems", "duplicate", "required"},
        "objects": {"type", "minProperties", "maxProperties", "required"},
        "junctors": {"type"},
    }[name]
    assert expected <= keywords.keys()


@pytest.mark.skipif(CRDS is None, reason="shared/data/crds is not here")
@pytest.mark.parametrize("area", AREAS)
def test_published_definitions(area: str) -> None:
    outcomes = Counter[str]()
    for name, schema in _schemas(area):
        for obj in valid_objects(schema, OBJECTS):
            accepted = check_valid(schema, obj, name)
            outcomes["accepted" if accepted else "refused by a junctor"] += 1
            if accepted:
                for fault in violations(obj, schema, limit=FAULTS):
                    check_fault(schema, fault, name)
                    outcomes[f"fault: {fault.keyword}"] += 1
    assert outcomes["accepted"] > outcomes["refused by a junctor"]
    assert outcomes["fault: type"] > 0
