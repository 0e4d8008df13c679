"""Random objects of a kind, from its schema, as a server has them: nothing empty but where it says something."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema import native

__all__ = ["JSON_VALUES", "METADATA", "objects_of"]

_TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
_TIMES = _INSTANTS.map(lambda at: f"{at.replace(microsecond=0, tzinfo=None).isoformat()}Z")
_MICRO_TIMES = _INSTANTS.map(lambda at: f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}Z")
JSON_VALUES = st.recursive(
    st.booleans() | st.integers(-(1 << 53), 1 << 53) | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=4), inside, max_size=2),
    max_leaves=4,
)
_INTEGERS = {"int32": st.integers(-(1 << 31), (1 << 31) - 1), "int64": st.integers(-(1 << 63), (1 << 63) - 1)}
_SCHEMA_LEVELS = 2
"""How deep a schema is put in itself."""


def _some(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Obj]:
    return st.fixed_dictionaries({}, optional=fields)


_OWNER = st.fixed_dictionaries(
    {"apiVersion": _TEXTS, "kind": _TEXTS, "name": _TEXTS, "uid": _TEXTS},
    optional={"controller": st.booleans(), "blockOwnerDeletion": st.booleans()},
)
_MANAGED = _some(
    {
        "manager": _TEXTS,
        "operation": st.sampled_from(["Apply", "Update"]),
        "apiVersion": _TEXTS,
        "time": _TIMES,
        "fieldsType": st.just("FieldsV1"),
        "fieldsV1": st.dictionaries(_TEXTS, JSON_VALUES, max_size=2),
        "subresource": _TEXTS,
    }
)
METADATA = _some(
    {
        **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion"), _TEXTS),
        "generation": _INTEGERS["int64"].filter(bool),
        "creationTimestamp": _TIMES,
        "deletionTimestamp": _TIMES,
        "deletionGracePeriodSeconds": _INTEGERS["int64"],
        "labels": st.dictionaries(_TEXTS, st.text(max_size=3), min_size=1, max_size=3),
        "annotations": st.dictionaries(_TEXTS, st.text(max_size=3), min_size=1, max_size=3),
        "ownerReferences": st.lists(_OWNER, min_size=1, max_size=2),
        "finalizers": st.lists(_TEXTS, min_size=1, max_size=2),
        "managedFields": st.lists(_MANAGED, min_size=1, max_size=2),
    }
)


def objects_of(schema: Obj) -> st.SearchStrategy[Obj]:
    """Objects of a kind without kind and apiVersion."""
    fields = {name: _values(field, 0) for name, field in schema["properties"].items()}
    return _some(_possible({"metadata": METADATA, **fields}))


def _possible(fields: dict[str, st.SearchStrategy[Any] | None]) -> dict[str, st.SearchStrategy[Any]]:
    return {name: values for name, values in fields.items() if values is not None}


def _values(schema: Obj, level: int) -> st.SearchStrategy[Any] | None:
    """Values of a schema; None if they would be too deep."""
    if native.DEFINITION in schema:
        return None if level >= _SCHEMA_LEVELS else _record(schema[native.DEFINITION](), level + 1)
    if native.UNION in schema:
        return _union(schema[native.UNION], level)
    if schema["type"] == "array":
        items = _values(schema["items"], level)
        return None if items is None else st.lists(items, min_size=1, max_size=2)
    if "additionalProperties" in schema:
        values = _values(schema["additionalProperties"], level)
        return None if values is None else st.dictionaries(_TEXTS, values, min_size=1, max_size=2)
    if schema["type"] == "object":
        return _record(schema, level)
    return _scalars(schema, empty=bool(schema.get(native.POINTER)))


def _record(schema: Obj, level: int) -> st.SearchStrategy[Obj]:
    return _some(_possible({name: _values(field, level) for name, field in schema["properties"].items()}))


def _union(alternatives: dict[str, Obj], level: int) -> st.SearchStrategy[Any] | None:
    if not alternatives:
        return JSON_VALUES
    values = [_values(field, level) for json_type, field in alternatives.items() if json_type]
    possible = [strategy for strategy in values if strategy is not None]
    if "boolean" in alternatives:
        possible.append(st.just(False))
    return st.one_of(possible) if possible else None


def _scalars(schema: Obj, *, empty: bool) -> st.SearchStrategy[Any]:
    match (schema["type"], schema.get("format"), schema.get(native.GO_TYPE)):
        case ("boolean", _, _):
            return st.booleans() if empty else st.just(True)
        case ("integer", form, _):
            return _INTEGERS[str(form)] if empty else _INTEGERS[str(form)].filter(bool)
        case ("number", _, _):
            return st.floats(allow_nan=False, allow_infinity=False)
        case (_, "byte", _):
            return st.binary(min_size=0 if empty else 1, max_size=6).map(lambda raw: b64encode(raw).decode())
        case (_, "date-time", "v1.MicroTime"):
            return _MICRO_TIMES
        case (_, "date-time", _):
            return _TIMES
        case (_, _, native.QUANTITY):
            return st.sampled_from(["0", "500m", "1Gi", "-3", "12e6"])
    return st.just("") | _TEXTS if empty else _TEXTS
