"""The schemas of the two forms of an event.

Source: the fields of kubernetes' core/v1 and events.k8s.io/v1 Event.
"""

from __future__ import annotations

from controlplane.apimachinery.schema.native import always, integer, micro_time, pointer, record, string, time
from controlplane.apis.references import object_reference

__all__ = ["CORE_SCHEMA", "EVENTS_SCHEMA"]

_SOURCE = record(
    {
        "component": string("Which program reports it."),
        "host": string("Where the program runs."),
    },
    "Who reports it; of old events.",
    go_type="v1.EventSource",
)

_CORE_SERIES = record(
    {
        "count": integer("How often it has been seen so far."),
        "lastObservedTime": micro_time("When it was last seen."),
    },
    "The same event, seen again and again.",
    go_type="v1.EventSeries",
)

CORE_SCHEMA = record(
    {
        "involvedObject": object_reference("What it is about."),
        "reason": string("Why, in one word."),
        "message": string("What happened, for people."),
        "source": _SOURCE,
        "firstTimestamp": time("When it was first seen."),
        "lastTimestamp": time("When it was last seen."),
        "count": integer("How often it was seen."),
        "type": string("Normal or Warning."),
        "eventTime": micro_time("When it was first seen; of new events."),
        "series": pointer(_CORE_SERIES),
        "action": string("What was done or has failed, in one word."),
        "related": object_reference("Another object that it has to do with.", optional=True),
        "reportingComponent": always(string("Which controller reports it: example.com/controller.")),
        "reportingInstance": always(string("Which instance of the controller reports it.")),
    },
    "Something that has happened to an object. It is forgotten after a while.",
    go_type="v1.Event",
    required=("metadata", "involvedObject"),
)

_EVENTS_SERIES = record(
    {
        "count": integer("How often it has been seen so far."),
        "lastObservedTime": micro_time("When it was last seen."),
    },
    "The same event, seen again and again.",
    go_type="v1.EventSeries",
    required=("count", "lastObservedTime"),
)

EVENTS_SCHEMA = record(
    {
        "eventTime": micro_time("When it was first seen."),
        "series": pointer(_EVENTS_SERIES),
        "reportingController": string("Which controller reports it: example.com/controller."),
        "reportingInstance": string("Which instance of the controller reports it."),
        "action": string("What was done or has failed, in one word."),
        "reason": string("Why it was done, in one word."),
        "regarding": object_reference("What it is about."),
        "related": object_reference("Another object that it has to do with.", optional=True),
        "note": string("What happened, for people."),
        "type": string("Normal or Warning."),
        "deprecatedSource": _SOURCE,
        "deprecatedFirstTimestamp": time("When it was first seen; of old events."),
        "deprecatedLastTimestamp": time("When it was last seen; of old events."),
        "deprecatedCount": integer("How often it was seen; of old events."),
    },
    "Something that has happened to an object. It is forgotten after a while.",
    go_type="v1.Event",
    required=("metadata", "eventTime"),
)
