"""JSONPath, as columns and selectable fields use it."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.jsonpath import JSONPath, JSONPathError

OBJ = {
    "spec": {"n": 1, "odd.name": "o", "l": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "null": None},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.n", [1]),
        (".spec.missing", []),
        (".spec.n.deeper", []),
        (".spec.null", [None]),
        (r".spec.odd\.name", ["o"]),
        (".spec['odd.name']", []),
        (r".spec['odd\.name']", ["o"]),
        (".spec['n']", [1]),
        (".spec['n','null']", [1, None]),
        (".spec.l[0,1].v", [1, 2]),
        (".spec.l[5,1].v", []),
        (".spec.l[0].k", ["a"]),
        (".spec.l[-1].k", ["b"]),
        (".spec.l[9].k", []),
        (".spec.l[*].v", [1, 2]),
        (".spec.l[0:1].v", [1]),
        (".spec.l[-2:].v", [1, 2]),
        (".spec.l[0:2:2].v", [1]),
        (".spec.l[1:1].v", []),
        (".spec.l[0:3].v", []),
        (".spec.l[2:].v", []),
        (".spec.n[0]", []),
        (".spec.null[0]", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        ("$.spec.n"[1:], [1]),
        (".spec.l[?(@.v>1)].k", ["b"]),
        (".spec.l[?(@.missing)].k", []),
        (".spec.l[?(@.v==1.0)].k", []),
        (".spec.l[?(@.k>1)].k", []),
        (".spec.l[?(@.v<>1)].k", []),
        (".spec.l[?(@.k==@.k)].v", [1, 2]),
        (".spec.l[?(@.v)].k", ["a", "b"]),
        (".spec.null[?(@.v)].k", []),
        (".spec.l[].k", ["a"]),
        (".spec.l[::-1].k", []),
        (".spec[*]", []),
        (".spec.n..", []),
        ("..k", ["a", "b"]),
        ("...k", ["a", "b"]),
    ],
)
def test_finding(path: str, found: list[Any]) -> None:
    assert JSONPath(path).find(OBJ) == found


@pytest.mark.parametrize("path", [".a[", '.a["b"]', ".a[b]", ".a[?(b)]", ".a[?(@.b==c)]", "....k", ".a........k"])
def test_what_cannot_be_read(path: str) -> None:
    with pytest.raises(JSONPathError):
        JSONPath(path)
