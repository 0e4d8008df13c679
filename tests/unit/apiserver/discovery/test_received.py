"""Discovery of other servers is what its fields' names promise, or refused with the place where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.discovery.received import NotDiscovery, groups_of, resources_of


def document(**resource: Any) -> Obj:
    return {
        "items": [
            {"metadata": {"name": "g"}, "versions": [{"version": "v1", "resources": [{"resource": "rs", **resource}]}]}
        ]
    }


def test_what_is_not_known_is_kept_and_a_kind_added() -> None:
    (group,) = groups_of(document(ofTheFuture={"a": [1]}, verbs=None))
    (resource,) = group["versions"][0]["resources"]
    assert resource["ofTheFuture"] == {"a": [1]}
    assert resource["responseKind"] == {"group": "", "version": "", "kind": ""}


@pytest.mark.parametrize("name", ["items", "resources"])
def test_a_list_without_entries_may_be_null_but_must_be_there(name: str) -> None:
    read = groups_of if name == "items" else resources_of
    assert read({name: None}) == []
    with pytest.raises(NotDiscovery, match=f"there are no {name}"):
        read({})


@pytest.mark.parametrize(
    ("said", "place"),
    [
        pytest.param(document(verbs="get"), "items[0].versions[0].resources[0].verbs: 'get' is not a list", id="verbs"),
        pytest.param(document(verbs=[1]), "items[0].versions[0].resources[0].verbs[0]: 1 is not text", id="a verb"),
        pytest.param(document(resource="a/b"), "items[0].versions[0].resources[0].resource: 'a/b'", id="a resource"),
        pytest.param(
            document(responseKind={"kind": []}), "items[0].versions[0].resources[0].responseKind.kind", id="kind"
        ),
        pytest.param(
            document(subresources=[{}]), "items[0].versions[0].resources[0].subresources[0].subresource", id="sub"
        ),
        pytest.param({"items": [{}]}, "items[0].metadata: None is not an object", id="metadata"),
        pytest.param({"items": [{"metadata": {"name": "a/b"}}]}, "items[0].metadata.name: 'a/b'", id="a group"),
        pytest.param({"items": {"a": 1}}, "items: {'a': 1} is not a list", id="no list"),
    ],
)
def test_what_is_wrong_is_named(said: Obj, place: str) -> None:
    with pytest.raises(NotDiscovery) as refused:
        groups_of(said)
    assert str(refused.value).startswith(place)


def test_entries_of_a_list_of_resources() -> None:
    entry = {"name": "rs/status", "namespaced": True, "verbs": ["get"], "kind": "R"}
    assert resources_of({"resources": [entry]}) == [entry]
    with pytest.raises(NotDiscovery, match=r"resources\[0\]\.namespaced: 'yes' is not true or false"):
        resources_of({"resources": [{**entry, "namespaced": "yes"}]})
