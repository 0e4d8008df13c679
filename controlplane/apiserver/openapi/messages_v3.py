"""OpenAPI 3.0 as gnostic's messages: paths and definitions from their JSON.

What Kubernetes' servers publish is known; of what others say further is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.messages import Pending, add_extension, fill_in_steps, set_common
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["definition_message", "path_message"]

_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def path_message(path: str, item: Obj) -> v3.Paths:
    """One path, as the only one of a Paths message."""
    paths = v3.Paths()
    named = paths.path.add(name=path)
    for key, value in item.items():
        if key == "parameters":
            for parameter in value:
                _parameter(parameter, named.value.parameters.add().parameter)
        elif key in _METHODS:
            _operation(value, getattr(named.value, key))
    return paths


def definition_message(
    name: str, schema: Obj, level: Callable[[Obj], Obj] | None = None
) -> Steps[v3.SchemasOrReferences]:
    """One definition, as the only one of a SchemasOrReferences message. ``level``: see ``fill_in_steps``."""
    definitions = v3.SchemasOrReferences()
    yield from fill_in_steps(
        schema, definitions.additional_properties.add(name=name).value, _schema_or_reference, level
    )
    return definitions


def _operation(operation: Obj, message: v3.Operation) -> None:
    message.tags.extend(operation.get("tags", ()))
    message.description = operation.get("description", "")
    message.operation_id = operation.get("operationId", "")
    for parameter in operation.get("parameters", ()):
        _parameter(parameter, message.parameters.add().parameter)
    body = operation.get("requestBody")
    if body is not None:
        request_body = message.request_body.request_body
        _content(body.get("content", {}), request_body.content)
        request_body.required = body.get("required", False)
    for code, answer in operation.get("responses", {}).items():
        response = message.responses.response_or_reference.add(name=code).value.response
        response.description = answer.get("description", "")
        if "content" in answer:
            _content(answer["content"], response.content)
    for key, value in operation.items():
        if key.startswith("x-"):
            add_extension(message.specification_extension, key, value)


def _content(content: Obj, message: v3.MediaTypes) -> None:
    for media_type, value in content.items():
        media = message.additional_properties.add(name=media_type).value
        if "schema" in value:
            _whole(value["schema"], media.schema)


def _parameter(parameter: Obj, message: v3.Parameter) -> None:
    message.name, message.description = parameter["name"], parameter.get("description", "")
    setattr(message, "in", parameter["in"])
    message.required = parameter.get("required", False)
    if "schema" in parameter:
        _whole(parameter["schema"], message.schema)


def _whole(schema: Obj, message: v3.SchemaOrReference) -> None:
    """A schema where it is used: a reference, nearly always."""
    for _ in fill_in_steps(schema, message, _schema_or_reference, None):
        pass


def _schema_or_reference(schema: Obj, message: v3.SchemaOrReference, pending: Pending[v3.SchemaOrReference]) -> None:
    if "$ref" in schema:
        message.reference._ref = schema["$ref"]  # noqa: SLF001  # the field's name
    else:
        message.schema.SetInParent()
        _schema(schema, message.schema, pending)


def _schema(schema: Obj, message: v3.Schema, pending: Pending[v3.SchemaOrReference]) -> None:
    for key, value in schema.items():
        match key:
            case "type":
                message.type = value
            case "properties":
                properties = message.properties
                properties.SetInParent()
                for name, child in value.items():
                    pending.append((child, properties.additional_properties.add(name=name).value))
            case "items":
                pending.append((value, message.items.schema_or_reference.add()))
            case "additionalProperties":
                if isinstance(value, dict):
                    pending.append((value, message.additional_properties.schema_or_reference))
                else:
                    message.additional_properties.boolean = value
            case "allOf" | "anyOf" | "oneOf":
                among = getattr(message, f"{key[:3]}_of")
                pending.extend((child, among.add()) for child in value)
            case "not":
                _schema(value, getattr(message, "not"), pending)
            case "default":
                _default(value, message.default)
            case _ if key.startswith("x-"):
                add_extension(message.specification_extension, key, value)
            case _:
                set_common(message, key, value)


def _default(value: object, message: v3.DefaultType) -> None:
    """Defaults that are lists or objects cannot be told; that there is one can."""
    message.SetInParent()
    match value:
        case bool():
            message.boolean = value
        case int() | float():
            message.number = value
        case str():
            message.string = value
