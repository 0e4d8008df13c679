"""Whether servers agree on a storage version, and since when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.storagemigration.agreement import Agreement, agreement_of


def at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02}:00Z"


def seconds(minute: int) -> float:
    return datetime(2026, 1, 1, 0, minute, tzinfo=UTC).timestamp()


def lease(server: str, minute: int) -> Obj:
    return {"metadata": {"name": server, "creationTimestamp": at(minute)}}


def storage_version(common: str, changed: int, *servers: str) -> Obj:
    status: Obj = {
        "storageVersions": [{"apiServerID": server} for server in servers],
        "conditions": [{"type": "AllEncodingVersionsEqual", "status": "True", "lastTransitionTime": at(changed)}],
    }
    return {
        "metadata": {"name": "core.things"},
        "status": {**status, **({"commonEncodingVersion": common} if common else {})},
    }


@pytest.mark.parametrize(
    ("version", "leases", "expected"),
    [
        pytest.param(
            storage_version("v1", 5, "a", "b"),
            [lease("a", 1), lease("b", 2)],
            Agreement("v1", settled=True, since=seconds(5), episode=at(5)),
            id="since the common version changed",
        ),
        pytest.param(
            storage_version("v1", 5, "a", "b"),
            [lease("a", 1), lease("b", 9)],
            Agreement("v1", settled=True, since=seconds(9), episode=at(5)),
            id="since the last server came",
        ),
        pytest.param(
            storage_version("v1", 5, "a"),
            [lease("a", 1), lease("b", 9)],
            Agreement("v1", settled=False, since=seconds(9), episode=at(5)),
            id="a server has not said yet how it stores",
        ),
        pytest.param(
            storage_version("v1", 5, "a", "b"),
            [lease("a", 1)],
            Agreement("v1", settled=False, since=seconds(5), episode=at(5)),
            id="a server has gone and stands there still",
        ),
        pytest.param(storage_version("", 5, "a", "b"), [lease("a", 1), lease("b", 1)], None, id="servers differ"),
        pytest.param({"metadata": {"name": "core.things"}}, [], None, id="nobody has said anything"),
    ],
)
def test_agreement(version: Obj, leases: list[Obj], expected: Agreement | None) -> None:
    assert agreement_of(version, leases) == expected
