"""Role bindings and cluster role bindings, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from tests.unit.apis.kinds import Kind

IN_NAMESPACE, EVERYWHERE = Kind(ROLE_BINDINGS), Kind(CLUSTER_ROLE_BINDINGS)
GROUP = "rbac.authorization.k8s.io"
ROLE = {"apiGroup": GROUP, "kind": "Role", "name": "x"}


def test_groups_are_filled_in() -> None:
    obj = IN_NAMESPACE.created(
        roleRef={"kind": "Role", "name": "x"},
        subjects=[
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s"},
        ],
    )
    assert obj["roleRef"] == ROLE
    assert obj["subjects"] == [
        {"kind": "User", "name": "u", "apiGroup": GROUP},
        {"kind": "Group", "name": "g", "apiGroup": GROUP},
        {"kind": "ServiceAccount", "name": "s"},
    ]
    assert "subjects" not in IN_NAMESPACE.created(roleRef=ROLE, subjects=[])


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (
            {},
            [
                'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
        (
            {"roleRef": {"apiGroup": "v1", "kind": "Role", "name": "a/b"}},
            [
                f'roleRef.apiGroup: Unsupported value: "v1": supported values: "{GROUP}"',
                "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        ),
        (
            {"roleRef": ROLE, "subjects": [{"kind": "Robot", "name": "u"}]},
            ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
        ),
        (
            {"roleRef": ROLE, "subjects": [{"kind": "User"}, {"kind": "Group", "apiGroup": "other", "name": "g"}]},
            [
                "subjects[0].name: Required value",
                f'subjects[1].apiGroup: Unsupported value: "other": supported values: "{GROUP}"',
            ],
        ),
        (
            {"roleRef": ROLE, "subjects": [{"kind": "ServiceAccount", "apiGroup": GROUP, "name": "s"}]},
            [f'subjects[0].apiGroup: Unsupported value: "{GROUP}": supported values: ""'],
        ),
    ],
)
def test_create(fields: dict[str, Any], errors: list[str]) -> None:
    assert IN_NAMESPACE.refused(**fields) == errors


def test_a_cluster_role_binding_is_stricter() -> None:
    assert EVERYWHERE.refused(roleRef=ROLE, subjects=[{"kind": "ServiceAccount", "name": "s"}]) == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "subjects[0].namespace: Required value",
    ]


def test_the_role_stays() -> None:
    old = IN_NAMESPACE.created(roleRef=ROLE)
    assert IN_NAMESPACE.changed(old, roleRef=ROLE, subjects=[{"kind": "User", "name": "u"}])[1] == []
    assert IN_NAMESPACE.changed(old, roleRef={**ROLE, "name": "two"}, subjects=[{"kind": "Robot", "name": "x"}])[1] == [
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"Role","Name":"two"}}: cannot change roleRef',
    ]


def test_columns_and_flags() -> None:
    obj = IN_NAMESPACE.created(
        roleRef=ROLE,
        subjects=[
            {"kind": "User", "name": "u"},
            {"kind": "User", "name": "v"},
            {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            {"kind": "ServiceAccount", "name": "t"},
        ],
    )
    assert IN_NAMESPACE.row(obj) == {
        "Name": "a",
        "Role": "Role/x",
        "Age": "60s",
        "Users": "u, v",
        "Groups": "g",
        "ServiceAccounts": "n/s, t",
    }
    assert ROLE_BINDINGS.strategy.create_on_update
    assert (ROLE_BINDINGS.storage_version_hash(), CLUSTER_ROLE_BINDINGS.storage_version_hash()) == (
        "eGsCzGH6b1g=",
        "48tpQ8gZHFc=",
    )
