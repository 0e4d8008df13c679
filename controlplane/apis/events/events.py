"""Events as events.k8s.io has them: other names for the fields of the core group's, and stricter rules.

Source: the behaviour of kubernetes' events.k8s.io/v1 Event.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apis.core.events import event_ttl_seconds
from controlplane.apis.events import rules
from controlplane.apis.events.forms import CORE_VERSION, convert, core_form
from controlplane.apis.events.schemas import CORE_SCHEMA, EVENTS_SCHEMA
from controlplane.apis.references import REFERENCE_NUMBERS

__all__ = ["NEW_EVENTS"]

_REPORTER = "reportingController"

_MESSAGE = message_of(
    EVENTS_SCHEMA,
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
    other_forms={CORE_VERSION: CORE_SCHEMA},
    versions=(ResourceVersion(name="v1", schema=EVENTS_SCHEMA, message=_MESSAGE, columns=rules.columns(core_form)),),
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
