"""Strategic merge patch, for native kinds: their schema says how lists are merged."""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable
from controlplane.apimachinery.patch.strategic_merge import (
    StrategicMergeError,
    apply_strategic_merge_patch,
)
from controlplane.apimachinery.schema.duplicates import merge_duplicates
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apimachinery.status import APIError, bad_request, not_found
from controlplane.apimachinery.validation.field import go_value
from controlplane.apiserver.endpoints.body import decode_patched, read_body
from controlplane.apiserver.endpoints.changes.api import Change, Edit
from controlplane.apiserver.endpoints.changes.refused import not_applicable
from controlplane.apiserver.registry.table import Served

__all__ = ["strategic_merge_patch"]

_SCHEMA = "strategic merge schema"

_INTEGERS_BELOW = 2**63


async def strategic_merge_patch(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no JSON object, 413."""
    raw = await read_body(edit.request)
    try:
        value, problems = merge_duplicates(raw, loads(raw))
    except MalformedJSON as error:
        raise bad_request(str(error)) from error
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise bad_request(f"json: cannot unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}")
    value = _whole_floats_as_integers(value)
    served, options = edit.target.served, edit.options
    schema = _schema(served)

    def change(old: Obj | None) -> Obj:
        if old is None:
            raise not_found(served.gr, edit.target.name)
        try:
            patched = apply_strategic_merge_patch(old, value, schema)
            patched.update(kind=old["kind"], apiVersion=old["apiVersion"])  # whatever the patch says
        except MalformedPatch as error:
            raise bad_request(str(error)) from error
        except PatchNotApplicable as error:
            raise not_applicable() from error
        except StrategicMergeError as error:
            raise APIError(500, "", str(error)) from error
        obj = decode_patched(
            loads(dumps(patched)),
            served,
            problems,
            options.field_validation,
            edit.warn,
            shown=lambda: go_value(value),
            converted=True,
        )
        edit.fields.update(old, obj, edit.manager)
        return obj

    return change


def _whole_floats_as_integers(value: Any) -> Any:
    """``1.0`` fits a field of integers, where the same in a text (another type of patch) does not."""
    if isinstance(value, dict):
        return {key: _whole_floats_as_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_floats_as_integers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _INTEGERS_BELOW:
        return int(value)
    return value


def _schema(served: Served) -> Obj:
    """The schema of the whole object, metadata included; made once."""
    known: Obj | None = served.memo.get(_SCHEMA)
    if known is None:
        schema = served.version.schema
        properties = {**schema.get("properties", {}), "metadata": OBJECT_META}
        known = served.memo[_SCHEMA] = {**schema, "properties": properties}
    return known
