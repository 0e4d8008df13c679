"""Priority levels, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.flowcontrol.mandatory import MANDATORY_PRIORITY_LEVELS
from controlplane.apis.flowcontrol.prioritylevelconfigurations import PRIORITY_LEVEL_CONFIGURATIONS
from tests.unit.apis.kinds import Kind

KIND = Kind(PRIORITY_LEVEL_CONFIGURATIONS)
QUEUING = "spec.limited.limitResponse.queuing"


def limited(response: Obj | None = None, **fields: Any) -> Obj:
    return {"type": "Limited", "limited": {"limitResponse": response or {"type": "Reject"}, **fields}}


def queue(**queuing: int) -> Obj:
    return limited({"type": "Queue", "queuing": queuing})


def test_what_is_filled_in() -> None:
    assert KIND.created(spec=queue())["spec"]["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
    }
    exempt = KIND.created(metadata={"name": "exempt"}, spec={"type": "Exempt", "exempt": {}})
    assert exempt["spec"]["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    assert KIND.created(spec=limited(nominalConcurrencyShares=0))["spec"]["limited"]["nominalConcurrencyShares"] == 0


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"type": "Weird"}, ['spec.type: Unsupported value: "Weird": supported values: "Exempt", "Limited"']),
        ({"type": "Limited"}, ["spec.limited: Required value: must not be empty when type is Limited"]),
        (
            {**limited(), "type": "Exempt"},
            [
                "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
                "spec.limited: Forbidden: must be nil if the type is not Limited",
            ],
        ),
        ({**limited(), "exempt": {}}, ["spec.exempt: Forbidden: must be nil if the type is Limited"]),
        (
            limited(
                {"type": "Queue", "queuing": {"queues": 4, "handSize": 9, "queueLengthLimit": -2}},
                nominalConcurrencyShares=-1,
                lendablePercent=101,
                borrowingLimitPercent=-5,
            ),
            [
                "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
                f"{QUEUING}.queueLengthLimit: Invalid value: -2: must be positive",
                f"{QUEUING}.handSize: Invalid value: 9: should not be greater than queues (4)",
                "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
                "spec.limited.borrowingLimitPercent: Invalid value: -5: if specified, must be a non-negative integer",
            ],
        ),
        (
            limited({"type": "Reject", "queuing": {}}),
            [f"{QUEUING}: Forbidden: must be nil if limited.limitResponse.type is not Limited"],
        ),
        (
            limited({"type": "Queue"}),
            [f"{QUEUING}: Required value: must not be empty if limited.limitResponse.type is Limited"],
        ),
        (
            limited({"type": "Wait"}),
            ['spec.limited.limitResponse.type: Unsupported value: "Wait": supported values: "Queue", "Reject"'],
        ),
        (
            queue(queues=-1, handSize=-1),
            [f"{QUEUING}.{f}: Invalid value: -1: must be positive" for f in ("queues", "handSize")],
        ),
        (
            queue(queues=10_000_001, handSize=1),
            [f"{QUEUING}.queues: Invalid value: 10000001: must not be greater than 10000000"],
        ),
        (queue(queues=64, handSize=10), []),
        (
            queue(queues=64, handSize=11),
            [
                (
                    f"{QUEUING}.handSize: Invalid value: 11: required entropy bits of deckSize 64 and handSize 11 "
                    f"should not "
                    "be greater than 60"
                )
            ],
        ),
    ],
)
def test_create(spec: Obj, errors: list[str]) -> None:
    assert KIND.refused(spec=spec) == errors


@pytest.mark.parametrize("name", MANDATORY_PRIORITY_LEVELS)
def test_what_must_exist_must_be_as_it_is(name: str) -> None:
    assert KIND.refused(metadata={"name": name}, spec=MANDATORY_PRIORITY_LEVELS[name]) == []


def test_of_what_is_exempt_the_share_may_change() -> None:
    meta = {"name": "exempt"}
    assert KIND.refused(metadata=meta, spec={"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5}}) == []
    *_, error = KIND.refused(metadata=meta, spec=limited())
    assert error.endswith("spec of 'exempt' except the 'spec.exempt' field must equal the fixed value")
    [error] = KIND.refused(metadata={"name": "catch-all"}, spec=limited())
    assert error.endswith("spec of 'catch-all' must equal the fixed value")


def test_columns_and_flags() -> None:
    obj = KIND.created(spec=queue())
    assert KIND.row(obj) == {
        "Name": "a",
        "Type": "Limited",
        "NominalConcurrencyShares": 30,
        "Queues": 64,
        "HandSize": 8,
        "QueueLengthLimit": 50,
        "Age": "60s",
    }
    exempt = KIND.created(metadata={"name": "exempt"}, spec={"type": "Exempt"})
    assert (KIND.row(exempt)["NominalConcurrencyShares"], KIND.row(exempt)["Queues"]) == ("<none>", "<none>")
    assert obj["metadata"]["generation"] == 1
    assert KIND.changed(obj, spec=limited())[0]["metadata"]["generation"] == 2
    assert PRIORITY_LEVEL_CONFIGURATIONS.strategy.unconditional_update
