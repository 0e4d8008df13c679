"""Schemas of pydantic models, and what they cannot say."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from controlplane.generic.model_schema import UnsupportedModel, schema_of_model


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = Field(gt=0, lt=10, description="how large")


class Whole(BaseModel):
    model_config = ConfigDict(json_schema_extra={"x-kubernetes-validations": [{"rule": "true"}]})
    apiVersion: str  # noqa: N815
    metadata: dict[str, Any]
    parts: list[Part] = []
    by_name: dict[str, Part] = {}
    color: Literal["red", "blue"] | None = None
    port: int | str = 80
    anything: dict[str, Any] = {}
    free: Any = None


class Tree(BaseModel):
    children: list[Tree] = []


class Either(BaseModel):
    part: Part | list[str]


class Pair(BaseModel):
    both: tuple[int, str]


PART = {
    "type": "object",
    "properties": {
        "size": {
            "type": "integer",
            "minimum": 0,
            "exclusiveMinimum": True,
            "maximum": 10,
            "exclusiveMaximum": True,
            "description": "how large",
        }
    },
    "required": ["size"],
}


def test_what_a_schema_can_say() -> None:
    assert schema_of_model(Whole) == {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "true"}],
        "properties": {
            "parts": {"type": "array", "items": PART, "default": []},
            "by_name": {"type": "object", "additionalProperties": PART, "default": {}},
            "color": {"type": "string", "enum": ["red", "blue"], "nullable": True},
            "port": {"x-kubernetes-int-or-string": True, "default": 80},
            "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {}},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Tree, r"Tree\.children\[\]: Tree contains itself"),
        (Either, r"Either\.part: a schema cannot say one of 2 forms"),
        (Pair, r"Pair\.both: a schema cannot say 'prefixItems'"),
    ],
)
def test_what_it_cannot(model: type[BaseModel], message: str) -> None:
    with pytest.raises(UnsupportedModel, match=message):
        schema_of_model(model)
