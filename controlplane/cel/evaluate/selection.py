"""Fields and keys of values: ``a.b``, ``has(a.b)``, ``a.?b``, whether the container's type is declared or not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from controlplane.cel.environment import FieldDeclaration
from controlplane.cel.equality import key_in
from controlplane.cel.errors import EvalError
from controlplane.cel.values import NONE, Message, Optional, Value

__all__ = ["field_presence", "field_reader", "optional_field_reader"]

Read = Callable[[Value], Value]


def field_reader(field: str, declared: FieldDeclaration | None) -> Read:
    """``value.field``."""
    key = declared.key if declared else field
    convert = declared.read if declared else None
    nullable = declared is not None and declared.nullable
    find = optional_field_reader(field, declared)

    def read(value: Value) -> Value:
        if type(value) is dict:
            if key in value:
                found = value[key]
                if found is not None or not nullable:
                    return convert(found) if convert else found
        elif type(value) is Optional:
            return find(value)
        elif isinstance(value, Message):
            with suppress(KeyError):
                return value[field]
        raise EvalError(f"no such key: {field}")

    return read


def optional_field_reader(field: str, declared: FieldDeclaration | None) -> Callable[[Value], Optional]:
    """``value.?field``; an optional is looked into."""
    key = declared.key if declared else field
    convert = declared.read if declared else None
    nullable = declared is not None and declared.nullable

    def find(value: Value) -> Optional:
        if type(value) is Optional:
            if not value.has_value:
                return NONE
            value = value.value
        if isinstance(value, Message):
            return Optional(value[field]) if field in value else NONE
        if type(value) is not dict:
            raise EvalError(f"no such key: {field}")
        if key not in value:
            return NONE
        found = value[key]
        if found is None and nullable:
            return NONE
        return Optional(convert(found) if convert else found)

    return find


def field_presence(field: str, declared: FieldDeclaration | None) -> Callable[[Value], bool]:
    """``has(value.field)``."""
    key = declared.key if declared else field
    nullable = declared is not None and declared.nullable

    def present(value: Value) -> bool:
        if type(value) is Optional:
            if not value.has_value:
                return False
            value = value.value
        if isinstance(value, Message):
            return field in value
        return type(value) is dict and key_in(value, key) and not (nullable and value[key] is None)

    return present
