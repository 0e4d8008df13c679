"""The parameters of requests, in both dialects.

In OpenAPI 3.0 each is written where it applies. Swagger 2.0 has them once for all paths, but for those that name a kind
and those in which old clients look for what the server can do.

Source: the fields of kubernetes/apimachinery ``meta/v1`` ListOptions, CreateOptions, UpdateOptions, PatchOptions,
DeleteOptions and GetOptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from controlplane.apimachinery.identity import Obj

__all__ = [
    "CREATE",
    "DELETE",
    "GET_CUSTOM",
    "LIST",
    "PATCH",
    "SELECT",
    "UPDATE",
    "name_parameter",
    "shared_parameters",
    "v2_parameter",
    "v3_parameter",
]


class _Parameter(NamedTuple):
    description: str
    type: str = "string"
    path: bool = False


_PARAMETERS: Mapping[str, _Parameter] = {
    "allowWatchBookmarks": _Parameter(
        "Whether a watch may get events of type BOOKMARK, which tell how far it has come.", "boolean"
    ),
    "continue": _Parameter("From an earlier page of the list: asks for the page after it."),
    "dryRun": _Parameter("All: do everything but the change itself."),
    "fieldManager": _Parameter("Who makes the change: up to 128 printable characters. Needed for apply."),
    "fieldSelector": _Parameter("Shows only objects whose fields have these values."),
    "fieldValidation": _Parameter(
        "What to do about unknown and repeated fields: Ignore drops them, Warn also sends a warning for each (the "
        "default), Strict refuses the request."
    ),
    "force": _Parameter("Whether an apply takes fields over from their managers. Only for apply.", "boolean"),
    "gracePeriodSeconds": _Parameter("Seconds the object has to end by itself; 0 deletes it at once.", "integer"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": _Parameter(
        "Whether an object is deleted that cannot be read from the store; nobody else is asked then.", "boolean"
    ),
    "labelSelector": _Parameter("Shows only objects whose labels fit."),
    "limit": _Parameter("The most items of one page of a list; where more follow, continue is set.", "integer"),
    "namespace": _Parameter("The namespace.", path=True),
    "orphanDependents": _Parameter("Deprecated: whether what belongs to the object is kept.", "boolean"),
    "pretty": _Parameter(
        "Whether JSON is indented for people. By default it is for browsers, curl and wget, and for nobody else."
    ),
    "propagationPolicy": _Parameter("What becomes of what belongs to the object: Orphan, Background or Foreground."),
    "resourceVersion": _Parameter("The version of the store to read, or to read after; a watch begins after it."),
    "resourceVersionMatch": _Parameter("How resourceVersion is meant: Exact or NotOlderThan."),
    "sendInitialEvents": _Parameter(
        "Whether a watch begins with an event for each object there is, then a bookmark.", "boolean"
    ),
    "timeoutSeconds": _Parameter("How long a list or a watch may last.", "integer"),
    "watch": _Parameter("Whether changes are sent as they happen, instead of a list.", "boolean"),
}

SELECT = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
)
"""What a list and a deletion of a collection have in common."""
LIST = ("allowWatchBookmarks", *SELECT, "watch")
CREATE = ("dryRun", "fieldManager", "fieldValidation")
UPDATE = CREATE
PATCH = (*CREATE, "force")
DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
GET_CUSTOM = ("resourceVersion",)

_UNSHARED = frozenset({"dryRun", "fieldValidation"})
"""kubectl before 1.27 looks for these in the operations themselves."""


def name_parameter(kind: str) -> Obj:
    """The path parameter ``name``; with a ``schema`` as in OpenAPI 3.0."""
    return {**_base("name", f"Name of the {kind}.", path=True), "schema": {"type": "string", "uniqueItems": True}}


def v3_parameter(name: str) -> orjson.Fragment:
    """A parameter in OpenAPI 3.0."""
    return _V3[name]


def v2_parameter(name: str) -> orjson.Fragment:
    """A parameter in Swagger 2.0, or a reference to the shared one."""
    return _V2[name]


def shared_parameters() -> Obj:
    """What references in Swagger 2.0 refer to."""
    return {name: _v2(name, parameter) for name, parameter in _PARAMETERS.items() if name not in _UNSHARED}


def _base(name: str, description: str, *, path: bool) -> Obj:
    parameter: Obj = {"description": description, "in": "path" if path else "query", "name": name}
    if path:
        parameter["required"] = True
    return parameter


def _v2(name: str, parameter: _Parameter) -> Obj:
    base = _base(name, parameter.description, path=parameter.path)
    return {**base, "type": parameter.type, "uniqueItems": True}


def _v3(name: str, parameter: _Parameter) -> Obj:
    base = _base(name, parameter.description, path=parameter.path)
    return {**base, "schema": {"type": parameter.type, "uniqueItems": True}}


_V3 = {name: orjson.Fragment(orjson.dumps(_v3(name, parameter))) for name, parameter in _PARAMETERS.items()}
_V2 = {
    name: orjson.Fragment(orjson.dumps(_v2(name, parameter) if name in _UNSHARED else {"$ref": f"#/parameters/{name}"}))
    for name, parameter in _PARAMETERS.items()
}
