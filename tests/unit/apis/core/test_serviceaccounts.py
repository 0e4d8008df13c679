"""Service accounts, as the recorded reference answers have them."""

from __future__ import annotations

from controlplane.apis.core.serviceaccounts import SERVICE_ACCOUNTS
from tests.unit.apis.kinds import Kind

KIND = Kind(SERVICE_ACCOUNTS)


def test_only_names_of_secrets_are_kept() -> None:
    obj = KIND.created(
        secrets=[{"name": "s", "kind": "Secret", "fieldPath": "x"}, {"kind": "Secret"}],
        imagePullSecrets=[{"name": "p"}, {}],
        automountServiceAccountToken=False,
    )
    assert obj["secrets"] == [{"name": "s"}, {}]
    assert obj["imagePullSecrets"] == [{"name": "p"}, {}]
    assert obj["automountServiceAccountToken"] is False
    changed, errors = KIND.changed(obj, secrets=[{"name": "t", "uid": "u"}])
    assert (changed["secrets"], errors) == ([{"name": "t"}], [])


def test_names() -> None:
    assert KIND.refused(metadata={"name": "a.b"}) == []
    [error] = KIND.refused(metadata={"name": "Bad"})
    assert error.startswith('metadata.name: Invalid value: "Bad": a lowercase RFC 1123 subdomain must consist of')


def test_a_feature_that_will_go_is_warned_of() -> None:
    obj = KIND.created(metadata={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}})
    [warning] = SERVICE_ACCOUNTS.strategy.warnings(obj)
    assert warning.startswith("metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+;")
    assert not SERVICE_ACCOUNTS.strategy.warnings(KIND.created())


def test_lists_merge_as_upstreams() -> None:
    secrets = KIND.version.schema["properties"]["secrets"]
    assert (secrets["x-kubernetes-list-map-keys"], secrets["x-kubernetes-patch-merge-key"]) == (["name"], "name")
    assert secrets["items"]["x-kubernetes-map-type"] == "atomic"
    pulls = KIND.version.schema["properties"]["imagePullSecrets"]
    assert pulls["x-kubernetes-list-type"] == "atomic"
    assert "x-kubernetes-patch-strategy" not in pulls


def test_columns_and_flags() -> None:
    assert KIND.row(KIND.created()) == {"Name": "a", "Age": "60s"}
    assert not SERVICE_ACCOUNTS.strategy.create_on_update
    assert SERVICE_ACCOUNTS.storage_version_hash() == "pbx9ZvyFpBE="
