"""What servers report of a resource, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.storage_versions import (
    ServerForm,
    common_encoding_version,
    reported,
    resource_of,
    storage_version_name,
    without_servers,
)

V1 = ServerForm("g/v1", ("g/v1", "g/v2"), ("g/v1",))
V2 = ServerForm("g/v2", ("g/v1", "g/v2"), ("g/v1", "g/v2"))
NEW: Obj = {"metadata": {"name": "g.things"}}


def condition(obj: Obj) -> Obj:
    (found,) = obj["status"]["conditions"]
    return {name: found[name] for name in ("status", "reason", "message", "lastTransitionTime")}


def agreed(at: str) -> dict[str, Any]:
    message = "Common encoding version set"
    return {"status": "True", "reason": "CommonEncodingVersionSet", "message": message, "lastTransitionTime": at}


def differ(at: str) -> dict[str, Any]:
    message = "Common encoding version unset"
    return {"status": "False", "reason": "CommonEncodingVersionUnset", "message": message, "lastTransitionTime": at}


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (GroupResource("", "configmaps"), "core.configmaps"),
        (GroupResource("rbac.authorization.k8s.io", "roles"), "rbac.authorization.k8s.io.roles"),
    ],
)
def test_names(resource: GroupResource, name: str) -> None:
    assert storage_version_name(resource) == name
    assert resource_of(name) == resource


def test_an_upgrade_from_one_form_to_another() -> None:
    first = reported(NEW, "a", V1, now="1")
    assert first["status"]["storageVersions"] == [
        {
            "apiServerID": "a",
            "encodingVersion": "g/v1",
            "decodableVersions": ["g/v1", "g/v2"],
            "servedVersions": ["g/v1"],
        }
    ]
    assert first["status"]["commonEncodingVersion"] == "g/v1"
    assert condition(first) == agreed("1")
    both = reported(first, "b", V1, now="2")
    assert condition(both) == agreed("1"), "nothing has changed"
    mixed = reported(both, "a", V2, now="3")
    assert [one["apiServerID"] for one in mixed["status"]["storageVersions"]] == ["a", "b"]
    assert "commonEncodingVersion" not in mixed["status"]
    assert condition(mixed) == differ("3")
    done = reported(mixed, "b", V2, now="4")
    assert done["status"]["commonEncodingVersion"] == "g/v2"
    assert condition(done) == agreed("4")


def test_another_common_version_counts_as_a_change_though_all_were_equal_before() -> None:
    first = reported(NEW, "a", V1, now="1")
    again = reported(first, "a", V2, now="2")
    assert condition(again) == agreed("2")


def test_what_says_nothing_new_is_the_same_object() -> None:
    first = reported(NEW, "a", V1, now="1")
    assert reported(first, "a", V1, now="2") is first
    assert without_servers(first, {"b"}.__contains__, now="2") is first


def test_servers_that_go() -> None:
    mixed = reported(reported(NEW, "a", V1, now="1"), "b", V2, now="2")
    left = without_servers(mixed, {"a"}.__contains__, now="3")
    assert left["status"]["commonEncodingVersion"] == "g/v2"
    assert condition(left) == agreed("3")
    none = without_servers(left, {"b"}.__contains__, now="4")
    assert none["status"]["storageVersions"] == []
    assert condition(none) == differ("4")


def test_conditions_of_others_stay() -> None:
    other = {"type": "Other", "status": "True", "reason": "Because", "message": "so"}
    obj = reported({**NEW, "status": {"conditions": [other]}}, "a", V1, now="1")
    assert [one["type"] for one in obj["status"]["conditions"]] == ["Other", "AllEncodingVersionsEqual"]


def test_none_is_common_of_none() -> None:
    assert common_encoding_version([]) is None
