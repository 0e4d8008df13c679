"""Patches of all kinds on objects of all kinds: they fit, or they are refused and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from tests.property.fuzz.harness import Fuzzed, counted, fuzzed_plane
from tests.property.fuzz.objects import ANY_JSON, TEXT, collection_of, made_objects

TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
MEMBERS = ("metadata", "labels", "annotations", "finalizers", "ownerReferences", "spec", "status", "data", "rules", "0")
POINTERS = st.one_of(
    st.lists(st.sampled_from([*MEMBERS, "-", "", "~0", "~1", "1", "-1", "00", "webhooks"]), max_size=5).map(
        lambda parts: "".join(f"/{part}" for part in parts)
    ),
    TEXT,
)
OPERATION = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]) | ANY_JSON, "path": POINTERS},
    optional={"from": POINTERS, "value": ANY_JSON, "bogus": ANY_JSON},
)
DIRECTIVES = st.dictionaries(
    st.sampled_from(
        [
            *("$patch", "$retainKeys", "$setElementOrder/finalizers", "$setElementOrder/ownerReferences"),
            *("$deleteFromPrimitiveList/finalizers", "$setElementOrder/webhooks", "$setElementOrder/bogus"),
        ]
    ),
    st.sampled_from(["replace", "delete", "merge", "x", [], ["kubernetes"], [{"uid": "x"}], [{"name": "a"}], None]),
    max_size=2,
)


PARTS = ("metadata", "spec", "data", "webhooks")


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with fuzzed_plane() as running:
        yield running


def patch(fuzzed: Fuzzed, resource: Resource, kind: str, body: Any, **query: str) -> None:
    """Patch the object and each of its subresources. What is refused leaves the object as it is."""
    item = f"{collection_of(resource)}/a"
    fuzzed.call("POST", collection_of(resource), {"metadata": {"name": "a"}})
    before = fuzzed.call("GET", item)
    headers = {"Content-Type": TYPES[kind]}
    answer = fuzzed.call("PATCH", f"{item}?{urlencode(query)}", body, headers)
    if answer.status >= 400 and before.status == 200:
        assert fuzzed.call("GET", item).body == before.body
    for subresource in resource.subresources:
        fuzzed.call("PATCH", f"{item}/{subresource.name}?{urlencode(query)}", body, headers)


@counted(5_000)
@given(made=made_objects(), operations=st.lists(OPERATION, max_size=4) | ANY_JSON, strict=st.booleans())
def test_json_patch(fuzzed: Fuzzed, made: tuple[Resource, Obj], operations: Any, strict: bool) -> None:
    patch(fuzzed, made[0], "json", operations, fieldValidation="Strict" if strict else "Ignore")


@counted(5_000)
@given(made=made_objects(), other=ANY_JSON, whole=st.booleans())
def test_merge_patch(fuzzed: Fuzzed, made: tuple[Resource, Obj], other: Any, whole: bool) -> None:
    resource, obj = made
    patch(fuzzed, resource, "merge", obj if whole else other)


@counted(5_000)
@given(
    made=made_objects(), top=DIRECTIVES, inner=DIRECTIVES, at=st.sampled_from(["metadata", "spec", "data", "webhooks"])
)
def test_strategic_merge_patch(fuzzed: Fuzzed, made: tuple[Resource, Obj], top: Obj, inner: Obj, at: str) -> None:
    resource, obj = made
    inside = obj.get(at)
    if isinstance(inside, dict):
        inside.update(inner)
    elif isinstance(inside, list):
        inside.append(inner)
    patch(fuzzed, resource, "strategic", {**obj, **top})


@counted(5_000)
@given(made=made_objects(), manager=st.sampled_from(["one", "two", "kubectl"]), force=st.booleans())
def test_apply_twice_changes_nothing(fuzzed: Fuzzed, made: tuple[Resource, Obj], manager: str, force: bool) -> None:
    resource, obj = made
    url = f"{collection_of(resource)}/a?{urlencode({'fieldManager': manager, 'force': str(force).lower()})}"
    headers = {"Content-Type": TYPES["apply"]}
    first = fuzzed.call("PATCH", url, obj, headers)
    if first.status < 300:
        meta = obj.get("metadata") or {}
        meta.pop("resourceVersion", None)
        meta.pop("uid", None)
        again = fuzzed.call("PATCH", url, obj, headers)
        assert (again.status, again.body) == (200, first.body)
    for subresource in resource.subresources:
        fuzzed.call("PATCH", url.replace("/a?", f"/a/{subresource.name}?"), obj, headers)
