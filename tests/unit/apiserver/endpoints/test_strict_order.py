"""In which order a native kind's unknown and repeated fields are told of, for each way to write an object."""

from __future__ import annotations

import pytest

from tests.aio import run
from tests.unit.apiserver.plane import running_plane

ALL = "/api/v1/namespaces/ns/resourcequotas"
SPEC = (
    '"spec":{"z":"v","twice":1,"twice":2,"hard":{"pods":"1"},"hard":{"pods":"2"},'
    '"scopeSelector":{"matchExpressions":[{"scopeName":"Terminating","x":1,"operator":"In","operator":"Exists"}]}}'
)
JSON = '{"metadata":{"name":"a"},' + SPEC + "}"
YAML = """
metadata: {name: a}
spec:
  z: v
  hard: {pods: 1}
  hard: {pods: 1}
  scopeSelector: {matchExpressions: [{scopeName: Terminating, x: 1, operator: Exists}]}
"""
OPERATIONS = """[
{"op":"add","path":"/spec/z","value":"v","foo":"bar"},
{"op":"add","path":"/spec/y","path":"/spec/twice","value":"1"},
{"op":"add","path":"/spec/scopeSelector",
 "value":{"matchExpressions":[{"x":1,"scopeName":"Terminating","operator":"Exists"}]}}]"""
HARD, NESTED = 'duplicate field "spec.hard"', 'unknown field "spec.scopeSelector.matchExpressions[0].x"'
OPERATOR = 'duplicate field "spec.scopeSelector.matchExpressions[0].operator"'
Z, TWICE = 'unknown field "spec.z"', 'unknown field "spec.twice"'
REPEATED = 'duplicate field "spec.twice"'


@pytest.mark.parametrize(
    ("method", "media_type", "body", "problems"),
    [
        pytest.param("POST", "application/json", JSON, [Z, TWICE, HARD, NESTED, OPERATOR], id="as the text has them"),
        pytest.param(
            "POST",
            "application/yaml",
            YAML,
            ['line 6: key "hard" already set in map', NESTED, Z],
            id="YAML: repeated ones by line, then by name",
        ),
        pytest.param(
            "PATCH",
            "application/merge-patch+json",
            "{" + SPEC + "}",
            [REPEATED, HARD, OPERATOR, NESTED, TWICE, Z],
            id="merge patch: repeated in the patch, then unknown by name",
        ),
        pytest.param(
            "PATCH",
            "application/strategic-merge-patch+json",
            "{" + SPEC + "}",
            [REPEATED, HARD, OPERATOR, NESTED, TWICE, Z],
            id="strategic merge patch",
        ),
        pytest.param(
            "PATCH",
            "application/json-patch+json",
            OPERATIONS,
            [
                'json patch unknown field "[0].foo"',
                'json patch duplicate field "[1].path"',
                NESTED,
                TWICE,
                Z,
            ],
            id="JSON patch: of its operations, then of the object",
        ),
    ],
)
def test_problems_are_told_of_in_upstreams_order(method: str, media_type: str, body: str, problems: list[str]) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            path = ALL
            if method == "PATCH":
                await plane.call("POST", ALL, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
                path = f"{ALL}/q"
            headers = {"Content-Type": media_type}
            answer = await plane.call(method, f"{path}?fieldValidation=Warn&dryRun=All", body, headers=headers)
            assert answer.status < 300, answer.raw
            assert answer.warnings == problems
            answer = await plane.call(method, f"{path}?fieldValidation=Strict&dryRun=All", body, headers=headers)
            assert "strict decoding error: " in answer.message
            assert answer.message.endswith(", ".join(problems))
            answer = await plane.call(method, f"{path}?fieldValidation=Ignore&dryRun=All", body, headers=headers)
            assert answer.status < 300, answer.raw
            assert answer.warnings == []

    run(scenario())
