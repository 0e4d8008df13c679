"""Events in both groups, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.core.events import EVENTS
from controlplane.apis.events.events import NEW_EVENTS
from controlplane.apis.events.forms import convert
from tests.unit.apis.kinds import Kind

CORE, NEW = Kind(EVENTS), Kind(NEW_EVENTS)
INVOLVED = {"kind": "ConfigMap", "namespace": "ns", "name": "x"}
TIME = "2020-01-01T00:00:00.123456Z"
COMPLETE: dict[str, Any] = {
    "eventTime": TIME,
    "reportingController": "x.io/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "Why",
    "regarding": INVOLVED,
    "type": "Normal",
}
NO_MATCH = 'involvedObject.namespace: Invalid value: "": does not match event.namespace'


def test_what_is_written_though_empty() -> None:
    obj = CORE.created(involvedObject=INVOLVED)
    assert {k: v for k, v in obj.items() if k not in {"metadata", "apiVersion", "kind"}} == {
        "involvedObject": INVOLVED,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"involvedObject": {"kind": "Node"}}, [NO_MATCH]),
        (
            {"involvedObject": {"namespace": "elsewhere"}},
            ['involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace'],
        ),
        ({"involvedObject": {"kind": "Node"}, "metadata": {"namespace": "default"}}, []),
        ({"involvedObject": INVOLVED, "metadata": {"name": "Any Name"}, "type": "Odd"}, []),
        (
            {"involvedObject": {}, "eventTime": TIME},
            [
                NO_MATCH,
                "reportingComponent: Required value",
                'reportingComponent: Invalid value: "": name part must be non-empty',
                (
                    'reportingComponent: Invalid value: "": name part must consist of alphanumeric characters, '
                    "'-', '_' "
                    "or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                "reportingInstance: Required value",
                "action: Required value",
                "reason: Required value",
            ],
        ),
    ],
)
def test_core_events(fields: dict[str, Any], errors: list[str]) -> None:
    assert CORE.refused(**fields) == errors


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (COMPLETE, []),
        ({}, [NO_MATCH, "eventTime: Required value", 'type: Invalid value: "": has invalid value: ']),
        (
            {**COMPLETE, "reportingInstance": "i" * 129, "action": "a" * 129, "note": "n" * 1025, "type": "Odd"},
            [
                'reportingInstance: Invalid value: "": can have at most 128 characters',
                'action: Invalid value: "": can have at most 128 characters',
                'message: Invalid value: "": can have at most 1024 bytes',
                'type: Invalid value: "": has invalid value: Odd',
            ],
        ),
        (
            {**COMPLETE, "series": {"count": 1}},
            [
                'series.count: Invalid value: "": should be at least 2',
                "series.lastObservedTime: Required value",
            ],
        ),
        (
            {**COMPLETE, "deprecatedCount": 1, "deprecatedSource": {"host": "h"}},
            [
                'count: Invalid value: "": needs to be unset',
                'source: Invalid value: "": needs to be unset',
            ],
        ),
        (
            {**COMPLETE, "reportingController": "bad controller"},
            [
                (
                    'reportingController: Invalid value: "bad controller": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                    "'MyName',  "
                    "or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
    ],
)
def test_new_events(fields: dict[str, Any], errors: list[str]) -> None:
    assert NEW.refused(**fields) == errors


def test_only_the_series_of_a_new_event_changes() -> None:
    old = NEW.created(**COMPLETE)
    assert NEW.changed(old, **COMPLETE, series={"count": 2, "lastObservedTime": TIME})[1] == []
    assert NEW.changed(old, **{**COMPLETE, "reason": "Other", "reportingController": "y"})[1] == [
        'reason: Invalid value: "Other": field is immutable',
        'reason: Invalid value: "Other": field is immutable',
        'reportingController: Invalid value: "y": field is immutable',
    ]
    assert CORE.changed(convert(old, "v1"), involvedObject=INVOLVED, message="now this")[1] == []


def without_type(obj: Obj) -> Obj:
    return {k: v for k, v in obj.items() if k not in {"apiVersion", "kind", "metadata"}}


def test_forms() -> None:
    core = CORE.created(
        involvedObject=INVOLVED,
        message="what",
        source={"component": "c"},
        count=2,
        firstTimestamp="2020-01-01T00:00:00Z",
        series={"lastObservedTime": TIME},
    )
    new = convert(core, "events.k8s.io/v1")
    assert without_type(new) == {
        "regarding": INVOLVED,
        "note": "what",
        "deprecatedSource": {"component": "c"},
        "deprecatedCount": 2,
        "deprecatedFirstTimestamp": "2020-01-01T00:00:00Z",
        "deprecatedLastTimestamp": None,
        "eventTime": None,
        "series": {"count": 0, "lastObservedTime": TIME},
    }
    assert convert(new, "v1") == core
    assert convert(core, "v1") is core
    complete = NEW.created(**COMPLETE, series={"count": 3, "lastObservedTime": TIME})
    assert convert(convert(complete, "v1"), "events.k8s.io/v1") == complete


def test_selectable_fields() -> None:
    core = CORE.created(involvedObject=INVOLVED, reason="R", type="Normal", reportingComponent="c")
    attributes = EVENTS.attributes(core)
    assert set(attributes) == set(EVENTS.field_labels)
    assert (attributes["involvedObject.kind"], attributes["source"]) == ("ConfigMap", "c")
    new = NEW_EVENTS.attributes(convert(core, "events.k8s.io/v1"))
    assert set(NEW_EVENTS.field_labels) < set(new)
    assert (new["regarding.kind"], new["reportingController"]) == ("ConfigMap", "c")


def test_columns() -> None:
    fields: dict[str, Any] = {
        "involvedObject": {**INVOLVED, "fieldPath": "data.k"},
        "reason": "Why",
        "message": "  what happened  ",
        "type": "Normal",
        "source": {"component": "comp", "host": "hst"},
        "count": 3,
    }
    core = CORE.created(**fields)
    expected = {
        "Last Seen": "<unknown>",
        "Type": "Normal",
        "Reason": "Why",
        "Object": "configmap/x",
        "Subobject": "data.k",
        "Source": "comp, hst",
        "Message": "what happened",
        "First Seen": "<unknown>",
        "Count": 3,
        "Name": "a",
    }
    assert CORE.row(core) == expected
    assert NEW.row(convert(core, "events.k8s.io/v1")) == expected
    new = NEW.created(**{**COMPLETE, "eventTime": "2026-01-01T00:00:00.000000Z", "regarding": {"namespace": "ns"}})
    assert [NEW.row(new)[c] for c in ("Last Seen", "First Seen", "Count", "Object", "Source")] == [
        "60s",
        "60s",
        1,
        "",
        "x.io/c, i",
    ]
    new["series"] = {"count": 9, "lastObservedTime": "2026-01-01T00:00:30.000000Z"}
    assert (NEW.row(new)["Last Seen"], NEW.row(new)["Count"]) == ("30s", 9)


def test_both_are_stored_as_one() -> None:
    assert EVENTS.key_prefix == NEW_EVENTS.key_prefix == "events"
    assert EVENTS.storage_version_hash() == NEW_EVENTS.storage_version_hash() == "r2yiGXH7wu8="
    for resource in (EVENTS, NEW_EVENTS):
        assert resource.volatile
        assert resource.strategy.create_on_update
        assert resource.strategy.ttl_seconds is not None
        assert resource.strategy.ttl_seconds({}) == 3600
