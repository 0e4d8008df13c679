"""Storage versions, by the texts of kubernetes' ``pkg/apis/apiserverinternal/validation``."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS
from tests.unit.apis.kinds import CREATED, Kind

KIND = Kind(STORAGE_VERSIONS)
NAMED = {"name": "core.configmaps"}
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
DNS_1123 = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
API_VERSION = (
    "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyVersion')"
)


def server(encoding: str = "v1", decodable: tuple[str, ...] | None = ("v1",), name: str = "a") -> Obj:
    entry: Obj = {"apiServerID": name, "encodingVersion": encoding}
    return entry if decodable is None else {**entry, "decodableVersions": list(decodable)}


def condition(type_: str = "Fine", status: str = "True", reason: str = "Because", message: str = "so") -> Obj:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": CREATED,
    }


def stored(**status: Any) -> Obj:
    obj = KIND.created(metadata=NAMED)
    obj["status"] = status
    return obj


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        pytest.param("core.configmaps", [], id="the core group"),
        pytest.param("rbac.authorization.k8s.io.roles", [], id="a group with dots"),
        pytest.param("configmaps", ["name must be in the form of <group>.<resource>"], id="no group"),
        pytest.param("-.configmaps", [f"the group segment {DNS_1123}"], id="no group's name"),
        pytest.param("core.", [f"the resource segment {DNS_1035}"], id="no resource's name"),
    ],
)
def test_names(name: str, problems: list[str]) -> None:
    expected = [f'metadata.name: Invalid value: "{name}": {problem}' for problem in problems]
    assert KIND.refused(metadata={"name": name}) == expected


def test_a_new_one_has_no_status_and_an_update_keeps_it() -> None:
    assert KIND.created(metadata=NAMED, status={"commonEncodingVersion": "v1"})["status"] == {}
    old = stored(storageVersions=[server()], commonEncodingVersion="v1")
    obj, errors = KIND.changed(old, metadata=NAMED, status={})
    assert errors == []
    assert obj["status"] == old["status"]


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        pytest.param({"storageVersions": [server()], "commonEncodingVersion": "v1"}, [], id="all agree"),
        pytest.param({"storageVersions": [server(), server("g/v2", ("g/v2",), "b")]}, [], id="they differ"),
        pytest.param(
            {"storageVersions": [server(name="A")], "commonEncodingVersion": "v1"},
            [f'storageVersions[0].apiServerID: Invalid value: "A": {DNS_1123}'],
            id="no server's name",
        ),
        pytest.param(
            {"storageVersions": [server("/", ("/",))], "commonEncodingVersion": "/"},
            [
                (
                    'storageVersions[0].encodingVersion: Invalid value: "/": '
                    "group part: must be non-empty,version part: must be non-empty"
                ),
                (
                    'storageVersions[0].decodableVersions[0]: Invalid value: "/": '
                    "group part: must be non-empty,version part: must be non-empty"
                ),
            ],
            id="neither group nor version",
        ),
        pytest.param(
            {"storageVersions": [server("G/1", ("G/1",))], "commonEncodingVersion": "G/1"},
            [
                f'storageVersions[0].{field}: Invalid value: "G/1": group part: {DNS_1123},version part: {DNS_1035}'
                for field in ("encodingVersion", "decodableVersions[0]")
            ],
            id="names of neither",
        ),
        pytest.param(
            {"storageVersions": [server("a/b/c", None)], "commonEncodingVersion": "a/b/c"},
            [
                f'storageVersions[0].encodingVersion: Invalid value: "a/b/c": {API_VERSION}',
                (
                    "storageVersions[0].decodableVersions: Invalid value: null: "
                    "decodableVersions must include encodingVersion a/b/c"
                ),
            ],
            id="three parts, and it cannot be read",
        ),
        pytest.param(
            {"storageVersions": [server("v1", ("v2",))], "commonEncodingVersion": "v1"},
            [
                (
                    'storageVersions[0].decodableVersions: Invalid value: ["v2"]: '
                    "decodableVersions must include encodingVersion v1"
                )
            ],
            id="another one can be read",
        ),
        pytest.param(
            {"commonEncodingVersion": "v1"},
            [
                (
                    'commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree on the same '
                    "encoding version, or if there is no server reporting the supported versions yet"
                )
            ],
            id="common to nobody",
        ),
        pytest.param(
            {"storageVersions": [server()]},
            ["commonEncodingVersion: Invalid value: null: the common encoding version is v1"],
            id="not said",
        ),
        pytest.param(
            {"storageVersions": [server()], "commonEncodingVersion": "v2"},
            ['commonEncodingVersion: Invalid value: "v2": the actual common encoding version is v1'],
            id="another one said",
        ),
    ],
)
def test_what_servers_report(status: Obj, problems: list[str]) -> None:
    _, errors = KIND.changed(stored(), subresource="status", metadata=NAMED, status=status)
    assert errors == [f"status.{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("conditions", "problems"),
    [
        pytest.param([condition()], [], id="fine"),
        pytest.param(
            [condition(), condition()],
            [
                (
                    'status[1].type: Invalid value: "Fine": the type of the condition is not unique, '
                    "it also appears in conditions[0]"
                )
            ],
            id="twice",
        ),
        pytest.param(
            [condition(reason="", message="")],
            [
                "status[0].reason: Required value: reason cannot be empty",
                "status[0].message: Required value: message cannot be empty",
            ],
            id="no reason",
        ),
    ],
)
def test_conditions(conditions: list[Obj], problems: list[str]) -> None:
    status = {"conditions": conditions}
    _, errors = KIND.changed(stored(), subresource="status", metadata=NAMED, status=status)
    assert errors == problems


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        pytest.param({}, ["<unset>", "<unset>"], id="nothing"),
        pytest.param(
            {"storageVersions": [server(name=n) for n in "ab"], "commonEncodingVersion": "v1"},
            ["v1", "a=v1,b=v1"],
            id="two",
        ),
        pytest.param(
            {"storageVersions": [server(name=n) for n in "abcde"]}, ["<unset>", "a=v1,b=v1,c=v1 + 2 more..."], id="five"
        ),
    ],
)
def test_columns(status: Obj, cells: list[str]) -> None:
    obj = stored(**status)
    columns = STORAGE_VERSIONS.versions[0].columns
    assert [column.name for column in columns] == ["Name", "CommonEncodingVersion", "StorageVersions", "Age"]
    assert [column.cell(obj) for column in columns[1:3]] == cells
