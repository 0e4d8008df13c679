"""Events as events.k8s.io has them: other names for the fields of the core group's, and stricter rules.

Source: the behaviour of kubernetes' events.k8s.io/v1 Event.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import integer, micro_time, pointer, record, string, time
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.core.events import EVENT_SOURCE, event_ttl_seconds
from controlplane.apis.events import rules
from controlplane.apis.events.forms import convert, core_form
from controlplane.apis.references import REFERENCE_NUMBERS, object_reference

__all__ = ["NEW_EVENTS"]

_REPORTER = "reportingController"

_SERIES = record(
    {
        "count": integer("How often it has been seen so far."),
        "lastObservedTime": micro_time("When it was last seen."),
    },
    "The same event, seen again and again.",
    go_type="v1.EventSeries",
    required=("count", "lastObservedTime"),
)

_SCHEMA = record(
    {
        "eventTime": micro_time("When it was first seen."),
        "series": pointer(_SERIES),
        "reportingController": string("Which controller reports it: example.com/controller."),
        "reportingInstance": string("Which instance of the controller reports it."),
        "action": string("What was done or has failed, in one word."),
        "reason": string("Why it was done, in one word."),
        "regarding": object_reference("What it is about."),
        "related": object_reference("Another object that it has to do with.", optional=True),
        "note": string("What happened, for people."),
        "type": string("Normal or Warning."),
        "deprecatedSource": EVENT_SOURCE,
        "deprecatedFirstTimestamp": time("When it was first seen; of old events."),
        "deprecatedLastTimestamp": time("When it was last seen; of old events."),
        "deprecatedCount": integer("How often it was seen; of old events."),
    },
    "Something that has happened to an object. It is forgotten after a while.",
    go_type="v1.Event",
    required=("metadata", "eventTime"),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "Event": (
            "metadata eventTime series reportingController reportingInstance action reason regarding related note type "
            "deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount"
        ),
        "EventSource": "component host",
        "EventSeries": "count lastObservedTime",
        **REFERENCE_NUMBERS,
    },
)


def _validate(obj: Obj) -> list[FieldError]:
    core = core_form(obj)
    return rules.validate(core, reporter=_REPORTER) + rules.validate_new_style(core)


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    core = core_form(obj)
    return rules.validate(core, reporter=_REPORTER) + rules.validate_new_style_update(core, core_form(old))


def _attributes(obj: Obj) -> Mapping[str, str]:
    return rules.attributes(core_form(obj), involved="regarding", reporter=_REPORTER)


NEW_EVENTS = Resource(
    group="events.k8s.io",
    plural="events",
    singular="event",
    kind="Event",
    namespaced=True,
    short_names=("ev",),
    key_prefix="events",
    storage_version="v1",
    stored_group="",
    convert=convert,
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=rules.columns(core_form)),),
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
        "reason",
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reportingController",
        "type",
    ),
    volatile=True,
)
