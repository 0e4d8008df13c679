"""The schema of schemas: what ``openAPIV3Schema`` may hold.

More keywords than a structural schema may use: the others are named so that they are refused with their reason rather
than dropped.

Source: the fields of kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/v1`` JSONSchemaProps.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import (
    any_value,
    array,
    boolean,
    integer,
    mapping,
    number,
    pointer,
    record,
    recursive,
    string,
    union,
)

__all__ = ["JSON_SCHEMA", "json_schema"]


def json_schema() -> Obj:
    """``JSON_SCHEMA``, for what is part of it."""
    return JSON_SCHEMA


def _schema(description: str) -> Obj:
    return recursive(json_schema, description)


def _count(description: str) -> Obj:
    return pointer(integer(description, bits=64))


def _schema_or_boolean(description: str) -> Obj:
    alternatives = {"object": _schema(""), "boolean": boolean()}
    return pointer(union(alternatives, description, otherwise="boolean or JSON schema expected"))


_RULE = record(
    {
        "rule": string("The condition, an expression in CEL in which self is the value that carries the rule."),
        "message": string("What is said when the rule fails."),
        "messageExpression": string("An expression in CEL that makes the message."),
        "reason": pointer(
            string("The cause that is reported; FieldValueInvalid by default.", go_type="v1.FieldValueErrorReason")
        ),
        "fieldPath": string("Where the failure is reported, relative to the value."),
        "optionalOldSelf": pointer(boolean("Whether the rule runs without an old value, too.")),
    },
    "A rule in CEL.",
    go_type="v1.ValidationRule",
    required=("rule",),
)

JSON_SCHEMA: Obj = record(
    {
        "id": string("Not supported."),
        "$schema": string("Not supported.", go_type="v1.JSONSchemaURL"),
        "$ref": pointer(string("Not supported.")),
        "description": string("What the value is for."),
        "type": string("array, boolean, integer, number, object or string."),
        "format": string("A form that strings, or a range that numbers must have."),
        "title": string("A short name of the value."),
        "default": pointer(any_value("Stands for a value that is missing.")),
        "maximum": pointer(number("The largest number allowed.")),
        "exclusiveMaximum": boolean("Whether the maximum itself is not allowed."),
        "minimum": pointer(number("The smallest number allowed.")),
        "exclusiveMinimum": boolean("Whether the minimum itself is not allowed."),
        "maxLength": _count("The most characters a string may have."),
        "minLength": _count("The fewest characters a string may have."),
        "pattern": string("A regular expression, in RE2's syntax, that strings must match somewhere."),
        "maxItems": _count("The most items a list may have."),
        "minItems": _count("The fewest items a list may have."),
        "uniqueItems": boolean("Not supported."),
        "multipleOf": pointer(number("What numbers must be a multiple of.")),
        "enum": array(any_value(go_type="v1.JSON"), "The values allowed."),
        "maxProperties": _count("The most fields an object may have."),
        "minProperties": _count("The fewest fields an object may have."),
        "required": array(string(), "The fields an object must have."),
        "items": pointer(union({"object": _schema(""), "array": array(_schema(""))}, "The schema of a list's items.")),
        "allOf": array(_schema(""), "Schemas that must all hold."),
        "oneOf": array(_schema(""), "Schemas of which exactly one must hold."),
        "anyOf": array(_schema(""), "Schemas of which at least one must hold."),
        "not": pointer(_schema("A schema that must not hold.")),
        "properties": mapping(_schema(""), "The schemas of an object's fields."),
        "additionalProperties": _schema_or_boolean("The schema of all other fields of an object."),
        "patternProperties": mapping(_schema(""), "Not supported."),
        "dependencies": mapping(
            union({"object": _schema(""), "array": array(string())}),
            "Not supported.",
            go_type="v1.JSONSchemaDependencies",
        ),
        "additionalItems": _schema_or_boolean("Not supported."),
        "definitions": mapping(_schema(""), "Not supported.", go_type="v1.JSONSchemaDefinitions"),
        "externalDocs": pointer(
            record(
                {"description": string("What is found there."), "url": string("Where it is found.")},
                "Where more is written about the value.",
                go_type="v1.ExternalDocumentation",
            )
        ),
        "example": pointer(any_value("An example of a value.")),
        "nullable": boolean("Whether null is a value, too."),
        "x-kubernetes-preserve-unknown-fields": pointer(
            boolean("true: fields that the schema does not name are kept.")
        ),
        "x-kubernetes-embedded-resource": boolean("Whether the value is an object with apiVersion, kind and metadata."),
        "x-kubernetes-int-or-string": boolean("Whether the value is an integer or a string."),
        "x-kubernetes-list-map-keys": array(string(), "The fields that tell the items of a map list apart."),
        "x-kubernetes-list-type": pointer(string("atomic, set or map: how lists are merged.")),
        "x-kubernetes-map-type": pointer(string("granular or atomic: how objects are merged.")),
        "x-kubernetes-validations": array(
            _RULE, "Rules in CEL that values must keep.", key=("rule",), go_type="v1.ValidationRules"
        ),
    },
    "An OpenAPI v3 schema, in the form that custom resources use.",
    go_type="v1.JSONSchemaProps",
)
