"""Swagger 2.0 as gnostic's messages: paths, definitions and parameters from their JSON.

What Kubernetes' servers publish is known; of what others say further is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.messages import Pending, add_extension, fill_in_steps, set_common
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["definition_message", "parameters_message", "path_message"]

_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch"})


def path_message(path: str, item: Obj) -> v2.Paths:
    """One path, as the only one of a Paths message."""
    paths = v2.Paths()
    named = paths.path.add(name=path)
    for key, value in item.items():
        if key == "parameters":
            for parameter in value:
                _parameters_item(parameter, named.value.parameters.add())
        elif key in _METHODS:
            _operation(value, getattr(named.value, key))
    return paths


def definition_message(name: str, schema: Obj, level: Callable[[Obj], Obj] | None = None) -> Steps[v2.Definitions]:
    """One definition, as the only one of a Definitions message. ``level``: see ``fill_in_steps``."""
    definitions = v2.Definitions()
    yield from fill_in_steps(schema, definitions.additional_properties.add(name=name).value, _schema, level)
    return definitions


def parameters_message(parameters: Obj) -> v2.ParameterDefinitions:
    """The shared parameters."""
    message = v2.ParameterDefinitions()
    for name, parameter in parameters.items():
        _parameter(parameter, message.additional_properties.add(name=name).value)
    return message


def _operation(operation: Obj, message: v2.Operation) -> None:
    message.tags.extend(operation.get("tags", ()))
    message.description = operation.get("description", "")
    message.operation_id = operation.get("operationId", "")
    message.produces.extend(operation.get("produces", ()))
    message.consumes.extend(operation.get("consumes", ()))
    message.schemes.extend(operation.get("schemes", ()))
    for parameter in operation.get("parameters", ()):
        _parameters_item(parameter, message.parameters.add())
    for code, answer in operation.get("responses", {}).items():
        response = message.responses.response_code.add(name=code).value.response
        response.description = answer.get("description", "")
        if "schema" in answer:
            _whole(answer["schema"], response.schema.schema)
    for key, value in operation.items():
        if key.startswith("x-"):
            add_extension(message.vendor_extension, key, value)


def _parameters_item(parameter: Obj, message: v2.ParametersItem) -> None:
    if "$ref" in parameter:
        message.json_reference._ref = parameter["$ref"]  # noqa: SLF001  # the field's name
    else:
        _parameter(parameter, message.parameter)


def _parameter(parameter: Obj, message: v2.Parameter) -> None:
    match parameter["in"]:
        case "body":
            body = message.body_parameter
            body.name, body.required = parameter["name"], parameter.get("required", False)
            _whole(parameter.get("schema", {}), body.schema)
            setattr(body, "in", "body")
        case "path":
            path = message.non_body_parameter.path_parameter_sub_schema
            path.required = True
            _simple_parameter(parameter, path)
        case _:
            _simple_parameter(parameter, message.non_body_parameter.query_parameter_sub_schema)


def _simple_parameter(parameter: Obj, message: v2.PathParameterSubSchema | v2.QueryParameterSubSchema) -> None:
    message.name, message.description = parameter["name"], parameter.get("description", "")
    message.type, message.unique_items = parameter.get("type", ""), parameter.get("uniqueItems", False)
    setattr(message, "in", parameter["in"])


def _whole(schema: Obj, message: v2.Schema) -> None:
    """A schema where it is used: a reference, nearly always."""
    for _ in fill_in_steps(schema, message, _schema, None):
        pass


def _schema(schema: Obj, message: v2.Schema, pending: Pending[v2.Schema]) -> None:
    for key, value in schema.items():
        match key:
            case "type":
                message.type.value.append(value)
            case "properties":
                properties = message.properties
                properties.SetInParent()
                for name, child in value.items():
                    pending.append((child, properties.additional_properties.add(name=name).value))
            case "items":
                pending.append((value, message.items.schema.add()))
            case "additionalProperties":
                if isinstance(value, dict):
                    message.additional_properties.schema.SetInParent()
                    pending.append((value, message.additional_properties.schema))
                else:
                    message.additional_properties.boolean = value
            case _ if key.startswith("x-"):
                add_extension(message.vendor_extension, key, value)
            case _:
                set_common(message, key, value)
