"""What an event must be, which of its fields can be selected by, and what its table shows; all of the core form.

An event with an ``eventTime`` is of the new style and must say who reports it. What events.k8s.io asks on top is asked
of events that come in by it alone.

Source: the behaviour of kubernetes' events in both groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import (
    validate_immutable,
    validate_object_meta,
    validate_object_meta_update,
)
from controlplane.apimachinery.validation.names import dns1123_subdomain, name_is_dns_subdomain, qualified_name
from controlplane.apis.events.schemas import CORE_SCHEMA
from controlplane.apis.printed import as_printed

__all__ = ["attributes", "columns", "validate", "validate_new_style", "validate_new_style_update"]

FIELD_BYTES = 128
"""Longest reporting instance, action and reason of an event of the new style."""
NOTE_BYTES = 1024

_REFERENCE_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_IMMUTABLE: tuple[tuple[str, Any], ...] = (
    ("involvedObject", {}),
    ("reason", ""),
    ("message", ""),
    ("source", {}),
    ("firstTimestamp", None),
    ("lastTimestamp", None),
    ("count", 0),
    ("reason", ""),
    ("type", ""),
    ("eventTime", None),
    ("action", ""),
    ("related", None),
    ("reportingComponent", ""),
    ("reportingInstance", ""),
)
"""In upstream's order, which has the reason twice. Each with what a missing one is."""


def _text(obj: Obj, field: str) -> str:
    return obj.get(field) or ""


def _involved(obj: Obj, field: str) -> str:
    return (obj.get("involvedObject") or {}).get(field) or ""


def validate(obj: Obj, *, reporter: str) -> list[FieldError]:
    """What both groups ask. ``reporter``: what the group calls the reporting component."""
    errors: list[FieldError] = []
    namespace, involved = meta.namespace(obj), _involved(obj, "namespace")
    does_not_match = invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if not obj.get("eventTime"):
        if namespace != involved and (involved or namespace != "default"):
            errors.append(does_not_match)
    else:
        if not involved and namespace not in {"default", "kube-system"}:
            errors.append(does_not_match)
        errors += _validate_reporter(obj, reporter)
    errors += [invalid("namespace", namespace, problem) for problem in dns1123_subdomain(namespace)]
    return errors


def _validate_reporter(obj: Obj, reporter: str) -> list[FieldError]:
    errors: list[FieldError] = []
    component = _text(obj, "reportingComponent")
    if not component:
        errors.append(required(reporter))
    errors += [invalid(reporter, component, problem) for problem in qualified_name(component)]
    for field in ("reportingInstance", "action", "reason"):
        length = len(_text(obj, field).encode())
        if not length:
            errors.append(required(field))
        if length > FIELD_BYTES:
            errors.append(invalid(field, "", f"can have at most {FIELD_BYTES} characters"))
    if len(_text(obj, "message").encode()) > NOTE_BYTES:
        errors.append(invalid("message", "", f"can have at most {NOTE_BYTES} bytes"))
    return errors


def validate_new_style(obj: Obj) -> list[FieldError]:
    """What events.k8s.io asks of a new event besides."""
    errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain, native=True)
    errors += _validate_series(obj)
    if not obj.get("eventTime"):
        errors.append(required("eventTime"))
    if (type_ := _text(obj, "type")) not in {"Normal", "Warning"}:
        errors.append(invalid("type", "", f"has invalid value: {type_}"))
    errors += [
        invalid(field, "", "needs to be unset")
        for field in ("firstTimestamp", "lastTimestamp", "count", "source")
        if obj.get(field)
    ]
    return errors


def validate_new_style_update(obj: Obj, old: Obj) -> list[FieldError]:
    """What events.k8s.io asks of a change besides: only the series may change."""
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    if obj.get("series") != old.get("series"):
        errors += _validate_series(obj)
    for field, missing in _IMMUTABLE:
        path = "reportingController" if field == "reportingComponent" else field
        shown, before = (_shown(one.get(field) or missing, field) for one in (obj, old))
        errors += validate_immutable(shown, before, path)
    return errors


def _shown(value: Any, field: str) -> Any:
    schema = CORE_SCHEMA["properties"][field]
    return as_printed(value, schema) if "properties" in schema else value


def _validate_series(obj: Obj) -> list[FieldError]:
    series = obj.get("series")
    if series is None:
        return []
    errors: list[FieldError] = []
    if (series.get("count") or 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


def attributes(obj: Obj, *, involved: str, reporter: str) -> Mapping[str, str]:
    """The selectable fields; ``involved`` and ``reporter``: what the group calls the object and the component."""
    component = _text(obj, "reportingComponent")
    return {
        "metadata.name": meta.name(obj),
        "metadata.namespace": meta.namespace(obj),
        **{f"{involved}.{field}": _involved(obj, field) for field in _REFERENCE_FIELDS},
        "reason": _text(obj, "reason"),
        reporter: component,
        "source": (obj.get("source") or {}).get("component") or component,
        "type": _text(obj, "type"),
    }


def _last_seen(obj: Obj) -> str:
    series = obj.get("series")
    if series is not None:
        return _text(series, "lastObservedTime")
    return _text(obj, "lastTimestamp") or _first_seen(obj)


def _first_seen(obj: Obj) -> str:
    return _text(obj, "firstTimestamp") or _text(obj, "eventTime")


def _count(obj: Obj) -> int:
    series = obj.get("series")
    if series is not None:
        return series.get("count") or 0
    return obj.get("count") or 1


def _target(obj: Obj) -> str:
    kind, name = _involved(obj, "kind").lower(), _involved(obj, "name")
    return f"{kind}/{name}" if name else kind


def _source(obj: Obj) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or _text(obj, "reportingComponent")
    instance = source.get("host") or _text(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


_Cell = Callable[[Obj], Any]
_COLUMNS: Iterable[tuple[str, _Cell, int, str]] = (
    ("Last Seen", _last_seen, 0, "How long ago it was last seen."),
    ("Type", lambda obj: _text(obj, "type"), 0, "Normal or Warning."),
    ("Reason", lambda obj: _text(obj, "reason"), 0, "What happened, in one word."),
    ("Object", _target, 0, "What it happened to."),
    ("Subobject", lambda obj: _involved(obj, "fieldPath"), 1, "Which part of the object."),
    ("Source", _source, 1, "Who reports it."),
    ("Message", lambda obj: _text(obj, "message").strip(), 0, "What happened, for people."),
    ("First Seen", _first_seen, 1, "How long ago it was first seen."),
    ("Count", _count, 1, "How often it was seen."),
)


def columns(form: Callable[[Obj], Obj]) -> tuple[Column, ...]:
    """The table; ``form`` makes the core form of what is shown."""

    def of(cell: _Cell) -> _Cell:
        return lambda obj: cell(form(obj))

    shown = [
        Column(name=name, cell=of(cell), priority=priority, description=description, age=name.endswith("Seen"))
        for name, cell, priority, description in _COLUMNS
    ]
    name = Column(name="Name", cell=meta.name, format="name", priority=1, description="Name of the event.")
    return (*shown, name)
