"""Events of the core group: what has happened to an object, kept for a while.

The same objects are served by events.k8s.io in another form.

Source: the behaviour of kubernetes' core/v1 Event.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.events import rules
from controlplane.apis.events.forms import EVENTS_VERSION, convert
from controlplane.apis.events.schemas import CORE_SCHEMA, EVENTS_SCHEMA
from controlplane.apis.references import REFERENCE_NUMBERS

__all__ = ["EVENTS", "event_ttl_seconds"]

EVENT_TTL_SECONDS = 3600
"""How long an event is kept after it was last written, unless the operator says otherwise; kube-apiserver's own."""

_REPORTER = "reportingComponent"

_MESSAGE = message_of(
    CORE_SCHEMA,
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
    other_forms={EVENTS_VERSION: EVENTS_SCHEMA},
    versions=(ResourceVersion(name="v1", schema=CORE_SCHEMA, message=_MESSAGE, columns=rules.columns(_itself)),),
    strategy=Strategy(
        validate=_validate,
        validate_update=_validate_update,
        has_dependents=False,
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
