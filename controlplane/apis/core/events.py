"""Events of the core group: what has happened to an object, kept for a while.

The same objects are served by events.k8s.io in another form.

Source: the behaviour of kubernetes' core/v1 Event.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import always, integer, micro_time, pointer, record, string, time
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.events import rules
from controlplane.apis.events.forms import convert
from controlplane.apis.references import REFERENCE_NUMBERS, object_reference

__all__ = ["EVENTS", "EVENT_SOURCE", "event_ttl_seconds"]

EVENT_TTL_SECONDS = 3600
"""How long an event is kept after it was last written, unless the operator says otherwise; kube-apiserver's own."""

_REPORTER = "reportingComponent"

EVENT_SOURCE = record(
    {
        "component": string("Which program reports it."),
        "host": string("Where the program runs."),
    },
    "Who reports it; of old events.",
    go_type="v1.EventSource",
)

_SERIES = record(
    {
        "count": integer("How often it has been seen so far."),
        "lastObservedTime": micro_time("When it was last seen."),
    },
    "The same event, seen again and again.",
    go_type="v1.EventSeries",
)

_SCHEMA = record(
    {
        "involvedObject": object_reference("What it is about."),
        "reason": string("Why, in one word."),
        "message": string("What happened, for people."),
        "source": EVENT_SOURCE,
        "firstTimestamp": time("When it was first seen."),
        "lastTimestamp": time("When it was last seen."),
        "count": integer("How often it was seen."),
        "type": string("Normal or Warning."),
        "eventTime": micro_time("When it was first seen; of new events."),
        "series": pointer(_SERIES),
        "action": string("What was done or has failed, in one word."),
        "related": object_reference("Another object that it has to do with.", optional=True),
        "reportingComponent": always(string("Which controller reports it: example.com/controller.")),
        "reportingInstance": always(string("Which instance of the controller reports it.")),
    },
    "Something that has happened to an object. It is forgotten after a while.",
    go_type="v1.Event",
    required=("metadata", "involvedObject"),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "Event": (
            "metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series "
            "action related reportingComponent reportingInstance"
        ),
        "EventSource": "component host",
        "EventSeries": "count lastObservedTime",
        **REFERENCE_NUMBERS,
    },
)


def event_ttl_seconds(_obj: Obj) -> int:
    return EVENT_TTL_SECONDS


def _validate(obj: Obj) -> list[FieldError]:
    return rules.validate(obj, reporter=_REPORTER)


def _validate_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return rules.validate(obj, reporter=_REPORTER)


def _attributes(obj: Obj) -> Mapping[str, str]:
    return rules.attributes(obj, involved="involvedObject", reporter=_REPORTER)


def _itself(obj: Obj) -> Obj:
    return obj


EVENTS = Resource(
    group="",
    plural="events",
    singular="event",
    kind="Event",
    namespaced=True,
    short_names=("ev",),
    key_prefix="events",
    storage_version="v1",
    convert=convert,
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=rules.columns(_itself)),),
    strategy=Strategy(
        validate=_validate,
        validate_update=_validate_update,
        create_on_update=True,
        ttl_seconds=event_ttl_seconds,
    ),
    attributes=_attributes,
    field_labels=(
        "metadata.name",
        "metadata.namespace",
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    volatile=True,
)
