"""The two forms of an event, which is one stored object: that of the core group, and that of events.k8s.io.

They differ in names of fields, and in which empty ones are written. The core form is the stored one.

Source: the behaviour of kubernetes' conversion of events.k8s.io/v1 Event.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj

__all__ = ["CORE_VERSION", "EVENTS_VERSION", "convert", "core_form"]

CORE_VERSION = "v1"
EVENTS_VERSION = "events.k8s.io/v1"

_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES = {core: events for events, core in _CORE_NAMES.items()}
_REPORTERS = ("reportingComponent", "reportingInstance")
"""Written by the core form even when they are empty."""


def convert(obj: Obj, api_version: str) -> Obj:
    """An event in the form of ``api_version``, one of the two; itself if that is its own. It may share parts."""
    if obj.get("apiVersion") == api_version:
        return obj
    return core_form(obj) if api_version == CORE_VERSION else _events_form(obj)


def core_form(obj: Obj) -> Obj:
    """A form of events.k8s.io's event as the core group has it."""
    core = {_CORE_NAMES.get(field, field): value for field, value in obj.items()}
    core["apiVersion"] = CORE_VERSION
    for field in _REPORTERS:
        core.setdefault(field, "")
    series = core.get("series")
    if series is not None and not series.get("count"):
        core["series"] = {field: value for field, value in series.items() if field != "count"}
    return core


def _events_form(obj: Obj) -> Obj:
    events = {
        _EVENTS_NAMES.get(field, field): value for field, value in obj.items() if value or field not in _REPORTERS
    }
    events["apiVersion"] = EVENTS_VERSION
    if "series" in events:
        events["series"] = {"count": 0, "lastObservedTime": None, **events["series"]}
    return events
