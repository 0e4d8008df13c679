"""From a pydantic model to the structural schema of a kind.

What a structural schema cannot say is refused, naming the field: unions, tuples, recursion, patterns of keys.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from controlplane.apimachinery.identity import Obj

__all__ = ["UnsupportedModel", "schema_of_model"]

_KEPT = frozenset(
    {
        "default",
        "description",
        "enum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "nullable",
        "pattern",
        "required",
        "type",
    }
)
_DROPPED = frozenset({"title", "examples", "deprecated", "readOnly", "writeOnly", "$defs"})
_OBJECT_META = ("apiVersion", "kind", "metadata")


class UnsupportedModel(TypeError):
    """A model says what a schema cannot; the message names the field and what it says."""


def schema_of_model(model: type[BaseModel]) -> Obj:
    """The schema of a whole object. What the model says of ``apiVersion``, ``kind`` and ``metadata`` is left out.

    Raises:
        UnsupportedModel.
    """
    described = model.model_json_schema()
    schema = _Translation(model.__name__, described.get("$defs") or {}).schema(described, model.__name__, ())
    for name in _OBJECT_META:
        schema.get("properties", {}).pop(name, None)
    required = [name for name in schema.get("required", ()) if name not in _OBJECT_META]
    schema.pop("required", None)
    return {**schema, **({"required": required} if required else {})}


class _Translation:
    def __init__(self, name: str, definitions: Obj) -> None:
        self._name, self._definitions = name, definitions

    def schema(self, given: Obj, at: str, above: tuple[str, ...]) -> Obj:
        """``at``: the field, for messages; ``above``: the definitions that this is inside of."""
        given, above = self._resolved(given, at, above)
        made: Obj = {}
        for key, value in given.items():
            if key == "default" and value is None:
                continue  # absent, in an API
            if key in _KEPT or key.startswith("x-kubernetes-"):
                made[key] = value
            elif key == "const":
                made["enum"] = [value]
            elif key in ("exclusiveMinimum", "exclusiveMaximum"):
                made[key.replace("exclusiveM", "m")], made[key] = value, True
            elif key == "properties":
                made[key] = {name: self.schema(one, f"{at}.{name}", above) for name, one in value.items()}
            elif key == "items":
                made[key] = self.schema(value, f"{at}[]", above)
            elif key == "additionalProperties":
                made.update(self._additional(value, at, above))
            elif key not in _DROPPED:
                raise UnsupportedModel(f"{at}: a schema cannot say {key!r} (pydantic has it as {value!r})")
        if "type" not in made and "x-kubernetes-int-or-string" not in made:
            made.setdefault("x-kubernetes-preserve-unknown-fields", True)
        return made

    def _resolved(self, given: Obj, at: str, above: tuple[str, ...]) -> tuple[Obj, tuple[str, ...]]:
        """Without references and choices: the definition itself, the one alternative to null."""
        while True:
            if "$ref" in given:
                name = str(given["$ref"]).rpartition("/")[2]
                if name in above:
                    raise UnsupportedModel(f"{at}: {name} contains itself, which a schema cannot say")
                above = (*above, name)
                given = {**self._definitions[name], **{key: v for key, v in given.items() if key != "$ref"}}
            elif len(given.get("allOf") or ()) == 1:
                given = {**given["allOf"][0], **{key: v for key, v in given.items() if key != "allOf"}}
            elif "anyOf" in given:
                given = {**_one_of(given["anyOf"], at), **{key: v for key, v in given.items() if key != "anyOf"}}
            else:
                return given, above

    def _additional(self, value: Any, at: str, above: tuple[str, ...]) -> Obj:
        if value is False:
            return {}  # unknown fields are pruned in any case
        if value is True:
            return {"x-kubernetes-preserve-unknown-fields": True}
        return {"additionalProperties": self.schema(value, f"{at}{{}}", above)}


def _one_of(choices: list[Obj], at: str) -> Obj:
    others = [choice for choice in choices if choice.get("type") != "null"]
    if len(others) == 1:
        return {**others[0], **({"nullable": True} if len(choices) > 1 else {})}
    if sorted(str(choice.get("type")) for choice in others) == ["integer", "string"]:
        return {"x-kubernetes-int-or-string": True}
    raise UnsupportedModel(f"{at}: a schema cannot say one of {len(others)} forms (pydantic has it as {others!r})")
