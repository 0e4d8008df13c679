"""Whether a schema has rules at all: asked of every schema, so that the expression language is loaded only where it is
needed."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj

__all__ = ["has_rules"]


def has_rules(schema: Obj) -> bool:
    """Whether the schema, or one below it that values reach, has rules."""
    if schema.get("x-kubernetes-validations"):
        return True
    inner = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(isinstance(one, dict) and has_rules(one) for one in inner)
