"""What a strict reader finds: unknown and repeated fields, in order, and only where it looks."""

from __future__ import annotations

import json

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import DEFINITION, UNION
from controlplane.apimachinery.schema.strict import in_order_of_keys, json_patch_problems, strict_problems

TEXT: Obj = {"type": "string"}
TREE: Obj = {"type": "object", "properties": {"name": TEXT, "child": {DEFINITION: lambda: TREE}}}
SCHEMA: Obj = {
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "color": TEXT,
                "labels": {"type": "object", "additionalProperties": TEXT},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}},
                "raw": {"type": "object"},
                "either": {UNION: {"string": TEXT}},
                "tree": {DEFINITION: lambda: TREE},
            },
        }
    }
}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param('{"kind":"X","apiVersion":"v1","metadata":{"name":"a"}}', [], id="nothing"),
        pytest.param(
            '{"spec":{"z":1,"color":"a","color":"b","a":1}}',
            ["unknown spec.z", "duplicate spec.color", "unknown spec.a"],
            id="in the order of the text",
        ),
        pytest.param('{"spec":{"z":1,"z":2}}', ["unknown spec.z"], id="what is unknown and repeated is unknown"),
        pytest.param('{"spec":{"z":{"a":1,"a":2}}}', ["unknown spec.z"], id="what is unknown is not looked into"),
        pytest.param('{"spec":{"color":"a","color":"b","color":"c"}}', ["duplicate spec.color"], id="told of once"),
        pytest.param('{"spec":{"labels":{"a":"1","a":"2"}}}', ["duplicate spec.labels.a"], id="in a map"),
        pytest.param(
            '{"spec":{"parts":[{"name":"a"},{"x":1,"name":"a","name":"b"}]}}',
            ["unknown spec.parts[1].x", "duplicate spec.parts[1].name"],
            id="in a list",
        ),
        pytest.param(
            '{"spec":{"parts":[{"x":1}],"parts":[{"y":1}]}}',
            ["unknown spec.parts[0].x", "duplicate spec.parts", "unknown spec.parts[0].y"],
            id="in a list that is repeated",
        ),
        pytest.param('{"spec":{"raw":{"a":1,"a":2}}}', [], id="not in values of any type"),
        pytest.param('{"spec":{"either":{"a":1,"a":2}}}', [], id="not in what may be of several types"),
        pytest.param(
            '{"spec":{"tree":{"child":{"child":{"name":"a","name":"b"}}}}}',
            ["duplicate spec.tree.child.child.name"],
            id="in a type that contains itself",
        ),
        pytest.param(
            '{"metadata":{"name":"a","name":"b","nam":1}}',
            ["duplicate metadata.name", "unknown metadata.nam"],
            id="in metadata",
        ),
    ],
)
def test_strict_problems(text: str, problems: list[str]) -> None:
    expected = [f'{kind} field "{path}"' for kind, _, path in (p.partition(" ") for p in problems)]
    assert strict_problems(text.encode(), SCHEMA) == expected


def test_no_more_are_told_of_than_upstream_does() -> None:
    text = json.dumps({"spec": {f"x{index}": 1 for index in range(150)}})
    assert len(strict_problems(text.encode(), SCHEMA)) == 100


def test_the_operations_of_a_json_patch() -> None:
    text = b'[{"op":"add","path":"/a","value":{"k":[{"x":1,"x":2}]},"foo":1},{"path":"/b","path":"/c","op":"remove"}]'
    assert json_patch_problems(text) == [
        'duplicate field "[0].value.k[0].x"',
        'unknown field "[0].foo"',
        'duplicate field "[1].path"',
    ]


def test_the_order_of_a_text_with_ordered_keys() -> None:
    paths = ["spec.unknown", "spec.parts[10].x", "spec.parts[9].x", "spec.parts[9].a.b", "data"]
    problems = [f'unknown field "{path}"' for path in paths]
    assert in_order_of_keys(problems) == [problems[index] for index in (4, 3, 2, 1, 0)]
