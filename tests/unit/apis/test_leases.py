"""Leases, as the recorded reference answers have them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError, Decoder
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors
from controlplane.apis.coordination.leases import LEASES

DECODER = Decoder("Lease", LEASES.versions[0].schema)


def lease(**spec: object) -> Obj:
    obj = {"metadata": {"name": "l", "namespace": "ns", "resourceVersion": "1"}, "spec": spec}
    DECODER.decode(obj)
    return obj


def test_numbers_are_positive() -> None:
    expected = [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]
    bad = lease(leaseDurationSeconds=0, leaseTransitions=-1)
    assert [str(e) for e in creation_errors(LEASES, bad)] == expected
    assert [str(e) for e in update_errors(LEASES, bad, lease())] == expected


@pytest.mark.parametrize("time", ["2020-01-01T00:00:00Z", "2020-01-01T00:00:01.5Z", "yesterday"])
def test_times_have_exactly_six_digits_of_a_second(time: str) -> None:
    with pytest.raises(DecodeError, match='parsing time "'):
        lease(acquireTime=time)


def test_a_good_lease() -> None:
    obj = lease(
        holderIdentity="",
        leaseDurationSeconds=15,
        leaseTransitions=0,
        acquireTime="2020-01-01T02:00:00.000000+02:00",
        renewTime="2020-01-01T00:00:00.123456Z",
    )
    assert creation_errors(LEASES, obj) == []
    assert obj["spec"] == {
        "holderIdentity": "",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "acquireTime": "2020-01-01T00:00:00.000000Z",
        "renewTime": "2020-01-01T00:00:00.123456Z",
    }


def test_fields_of_coordinated_election_are_dropped_unless_they_were_there() -> None:
    fields = {"strategy": "OldestEmulationVersion", "preferredHolder": "x"}
    obj = lease(**fields)
    LEASES.strategy.prepare_for_create(obj)
    assert obj["spec"] == {}
    obj = lease(**fields)
    LEASES.strategy.prepare_for_update(obj, lease())
    assert obj["spec"] == {}
    obj = lease(**fields)
    LEASES.strategy.prepare_for_update(obj, lease(**fields))
    assert obj["spec"] == fields
    del obj["spec"]["strategy"]
    assert [str(e) for e in update_errors(LEASES, obj, lease(**fields))] == [
        "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"
    ]


def test_finalizers_need_no_prefix() -> None:
    obj = lease()
    obj["metadata"]["finalizers"] = ["plain"]
    assert creation_errors(LEASES, obj) == []


def test_columns() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert [(c.name, c.value(lease(holderIdentity="me"), now)) for c in LEASES.versions[0].columns] == [
        ("Name", "l"),
        ("Holder", "me"),
        ("Age", "<unknown>"),
    ]


def test_flags() -> None:
    assert LEASES.strategy.create_on_update
    assert not LEASES.strategy.unconditional_update
    assert LEASES.volatile
