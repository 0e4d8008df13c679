"""Storage version migrations, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.storagemigration.storageversionmigrations import STORAGE_VERSION_MIGRATIONS
from tests.unit.apis.kinds import CREATED, Kind

KIND = Kind(STORAGE_VERSION_MIGRATIONS)
WIDGETS: Obj = {"resource": {"group": "example.com", "resource": "widgets"}}
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


def conditions(**statuses: str) -> list[Obj]:
    return [
        {"type": type_, "status": status, "lastTransitionTime": CREATED, "reason": "Because", "message": ""}
        for type_, status in statuses.items()
    ]


def with_status(revision: str = "", **statuses: str) -> dict[str, Any]:
    return {"resourceVersion": revision, "conditions": conditions(**statuses)}


def stored(**status: Any) -> Obj:
    obj = KIND.created(spec=WIDGETS)
    obj["status"] = status
    return obj


@pytest.mark.parametrize(
    ("resource", "errors"),
    [
        pytest.param({}, ["spec.resource.resource: Required value: resource is required to be set"], id="nothing"),
        pytest.param({"resource": "configmaps"}, [], id="the core group"),
        pytest.param(
            {"resource": "."}, [f'spec.resource.resource: Invalid value: ".": {DNS_1035}'], id="no name of a resource"
        ),
        pytest.param(
            {"resource": "widgets", "group": "-"},
            [f'spec.resource.group: Invalid value: "-": {DNS_1123}'],
            id="no name of a group",
        ),
    ],
)
def test_create(resource: Obj, errors: list[str]) -> None:
    assert KIND.refused(spec={"resource": resource}) == errors


def test_a_new_one_has_no_status_and_no_generation() -> None:
    obj = KIND.created(spec=WIDGETS, status=with_status("7", Running="True"))
    assert obj["status"] == {}
    assert "generation" not in obj["metadata"]


def test_the_spec_is_fixed_and_the_status_kept() -> None:
    old = stored(**with_status("7", Running="True"))
    spec = {"resource": {"group": "", "resource": "secrets"}}
    changed, errors = KIND.changed(old, spec=spec)
    assert errors == ['spec: Invalid value: {"Resource":{"group":"","resource":"secrets"}}: field is immutable']
    assert changed["status"] == old["status"]
    _, errors = KIND.changed(old, spec=WIDGETS, metadata={"labels": {"a": "b"}})
    assert errors == []


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        pytest.param(with_status(), with_status("123", Running="True"), [], id="begins"),
        pytest.param(
            with_status("123", Running="True"), with_status("123", Running="True", Succeeded="True"), [], id="succeeds"
        ),
        pytest.param(
            with_status("123", Running="True", Failed="True"),
            with_status("123", Running="False", Failed="True"),
            [],
            id="is cleaned up",
        ),
        pytest.param(
            with_status("123"),
            with_status("456"),
            ['status.resourceVersion: Invalid value: "456": field is immutable'],
            id="another revision",
        ),
        pytest.param(
            with_status("123"),
            with_status(),
            ['status.resourceVersion: Invalid value: "": field is immutable'],
            id="no revision any more",
        ),
        *(
            pytest.param(
                with_status(),
                with_status(bad),
                [f'status.resourceVersion: Invalid value: "{bad}": resource version is not well formed: {bad}'],
                id=f"revision {bad}",
            )
            for bad in ("abc", "0", "012", "-1")
        ),
    ],
)
def test_status(before: Obj, after: Obj, errors: list[str]) -> None:
    assert KIND.changed(stored(**before), subresource="status", spec=WIDGETS, status=after)[1] == errors


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            {},
            {"Succeeded": "True", "Failed": "True"},
            "Both success and failed conditions cannot be true at the same time",
        ),
        ({"Succeeded": "True"}, {"Succeeded": "False"}, "Success condition cannot be set to false once it is true"),
        ({"Succeeded": "True"}, {}, "Success condition cannot be set to false once it is true"),
        ({"Failed": "True"}, {"Failed": "Unknown"}, "Failed condition cannot be set to false once it is true"),
    ],
)
def test_an_end_is_final(before: dict[str, str], after: dict[str, str], why: str) -> None:
    old = stored(**with_status("1", **before))
    (error,) = KIND.changed(old, subresource="status", spec=WIDGETS, status=with_status("1", **after))[1]
    assert error.startswith("status.conditions: Invalid value: [")
    assert error.endswith(f"]: {why}")


def test_a_status_write_changes_nothing_else() -> None:
    old = stored()
    other = {"resource": {"group": "", "resource": "secrets"}}
    changed, errors = KIND.changed(
        old, subresource="status", spec=other, metadata={"labels": {"a": "b"}}, status=with_status("5")
    )
    assert errors == []
    assert changed["spec"] == WIDGETS
    assert "labels" not in changed["metadata"]


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        ({}, "Pending"),
        ({"Running": "True"}, "Running"),
        ({"Running": "True", "Succeeded": "True"}, "Succeeded"),
        ({"Running": "False", "Failed": "True"}, "Failed"),
    ],
)
def test_the_table(statuses: dict[str, str], shown: str) -> None:
    assert KIND.row(stored(**with_status("5", **statuses))) == {
        "Name": "a",
        "Resource": "widgets.example.com",
        "Status": shown,
    }
