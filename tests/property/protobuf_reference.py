"""The built-in kinds in google.protobuf, from ``kubernetes.proto``, and their JSON: a second implementation to compare
ours with. It shares nothing with ours but the names of fields.
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

__all__ = ["empty", "from_json", "to_json"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RAW = ("FieldsV1", "JSON", "RawExtension")
_INLINE = ("rule", "ruleWithOperations")
_SPREAD = ("RuleWithOperations", "NamedRuleWithOperations", "ResourcePolicyRule")
_EXTENSION = "xKubernetes"


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    proto = Path(__file__).with_name("kubernetes.proto")
    with tempfile.NamedTemporaryFile(suffix=".set") as compiled:
        include = str(resources.files("grpc_tools") / "_proto")
        assert protoc.main(["protoc", f"-I{proto.parent}", f"-I{include}", f"-o{compiled.name}", proto.name]) == 0
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(compiled.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def empty(name: str) -> Message:
    """A message by its name in ``kubernetes.proto``: ``core_Secret``."""
    made: Message = message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"reference.{name}"))()
    return made


def to_json(message: Any) -> Any:
    """What Go's JSON of a message has: empty values are left out of fields that are always there."""
    kind = _kind(message.DESCRIPTOR)
    fields = {field.name: _field_to_json(message, field) for field in message.DESCRIPTOR.fields if _has(message, field)}
    match kind:
        case "Time" | "MicroTime":
            return _time_to_json(kind, message)
        case "Quantity":
            return fields.get("string") or "0"
        case _ if kind in _RAW:
            return json.loads(b64decode(next(iter(fields.values()), "") or b64encode(b"null")))
        case "ExtraValue" | "Verbs":
            return fields.get("items", [])
        case "JSONSchemaPropsOrBool":
            return fields.get("schema", fields["allows"])
        case "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrStringArray":
            return fields.get("schema", fields.get("jSONSchemas", fields.get("property", [])))
    obj: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.name not in fields:
            continue
        value = fields[field.name]
        if field.name in _INLINE and kind in _SPREAD:
            obj |= value
        elif not field.is_required or value not in ("", 0, False, None):
            obj[_json_name(kind, field.name)] = value
    return obj


def from_json(name: str, obj: Any) -> Message:
    """The message that Go makes of such JSON. ``name`` as for ``empty``."""
    message = empty(name)
    _fill(message, obj)
    return message


def _kind(descriptor: Any) -> str:
    name: str = descriptor.name
    return name.rpartition("_")[2]


def _json_name(kind: str, name: str) -> str:
    if kind == "JSONSchemaProps":
        if name in ("ref", "schema"):
            return f"${name}"
        if name.startswith(_EXTENSION):
            rest = name.removeprefix(_EXTENSION)
            return "x-kubernetes" + "".join(f"-{c.lower()}" if c.isupper() else c for c in rest)
    return "uid" if name == "uID" else name[0].lower() + name[1:]  # a few are capitalised there and not in JSON


def _has(message: Any, field: Any) -> bool:
    return bool(getattr(message, field.name)) if field.is_repeated else message.HasField(field.name)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _scalar_to_json(field: Any, value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return to_json(value) if field.message_type is not None else value


def _field_to_json(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if _is_map(field):
        of = field.message_type.fields_by_name["value"]
        return {key: _scalar_to_json(of, value[key]) for key in value}
    if field.is_repeated:
        return [_scalar_to_json(field, item) for item in value]
    return _scalar_to_json(field, value)


def _time_to_json(kind: str, message: Any) -> str | None:
    if not message.HasField("seconds"):
        return None
    instant = _EPOCH + timedelta(seconds=message.seconds)
    fraction = f".{message.nanos // 1000:06d}" if kind == "MicroTime" else ""
    return f"{instant.replace(tzinfo=None).isoformat()}{fraction}Z"


def _fill(message: Any, obj: Any) -> None:
    kind = _kind(message.DESCRIPTOR)
    match kind:
        case "Time" | "MicroTime":
            if obj is not None:
                since = datetime.fromisoformat(obj) - _EPOCH
                message.seconds = since.days * 86400 + since.seconds
                message.nanos = since.microseconds * 1000
            return
        case "Quantity":
            message.string = obj if obj is not None else "0"
            return
        case _ if kind in _RAW:
            setattr(
                message,
                message.DESCRIPTOR.fields[0].name,
                json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode(),
            )
            return
        case "ExtraValue" | "Verbs":
            message.items.extend(obj)
            return
        case "JSONSchemaPropsOrBool":
            obj = {"allows": True, "$schema": obj} if isinstance(obj, dict) else {"allows": obj}
        case "JSONSchemaPropsOrArray":
            obj = {"$schema": obj} if isinstance(obj, dict) else {"jSONSchemas": obj}
        case "JSONSchemaPropsOrStringArray":
            obj = {"$schema": obj} if isinstance(obj, dict) else {"property": obj}
    obj = obj or {}
    for field in message.DESCRIPTOR.fields:
        name = "$schema" if kind.startswith("JSONSchemaPropsOr") and field.name == "schema" else field.name
        given = obj if field.name in _INLINE and kind in _SPREAD else obj.get(_json_name(kind, name))
        if given is not None or field.is_required:
            _fill_field(message, field, given)


def _fill_field(message: Any, field: Any, given: Any) -> None:
    value = getattr(message, field.name)
    if _is_map(field):
        of = field.message_type.fields_by_name["value"]
        for key, item in given.items():
            if of.message_type is not None:
                _fill(value[key], item)
            else:
                value[key] = _scalar(of, item)
    elif field.is_repeated:
        for item in given:
            if field.message_type is not None:
                _fill(value.add(), item)
            else:
                value.append(_scalar(field, item))
    elif field.message_type is not None:
        value.SetInParent()
        _fill(value, given)
    else:
        setattr(message, field.name, field.default_value if given is None else _scalar(field, given))


def _scalar(field: Any, given: Any) -> Any:
    return b64decode(given) if field.type == FieldDescriptor.TYPE_BYTES else given
