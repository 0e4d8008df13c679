"""Items of set and map lists cannot be null, and the keys of map lists always have a value."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, forbidden, required

__all__ = ["list_map_key_errors"]


def list_map_key_errors(schema: Obj, path: str) -> list[FieldError]:
    """What is wrong with the items of one list."""
    items, list_type = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    if items.get("nullable"):
        errors.append(
            forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
        )
    if list_type == "set":
        return errors
    needed, properties = items.get("required") or (), items.get("properties") or {}
    for key in schema.get("x-kubernetes-list-map-keys") or ():
        inner = properties.get(key)
        if inner is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in needed and inner.get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(required(f"{at}.default", why))
        if inner.get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(forbidden(f"{at}.nullable", why))
    return errors
