"""The two forms in which all is published: OpenAPI 3.0, one document a group and version, and Swagger 2.0, one in all.

They differ in where definitions live, in how a reference is given a description, and in what a schema may say.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from controlplane.apimachinery.identity import Obj

__all__ = ["Dialect", "Encoding"]


class Dialect(Enum):
    """``V3`` or ``V2``."""

    V3 = "#/components/schemas/"
    V2 = "#/definitions/"

    def ref(self, name: str) -> Obj:
        """A reference to a definition, alone."""
        return {"$ref": self.value + name}

    def field(self, name: str, description: str = "", *, default: Any = None) -> Obj:
        """A property that refers to a definition. In OpenAPI 3.0 a reference may have nothing beside it."""
        if self is Dialect.V2:
            return {"description": description, **self.ref(name)} if description else self.ref(name)
        if not description and default is None:
            return self.ref(name)
        schema: Obj = {"allOf": [self.ref(name)]}
        if default is not None:
            schema["default"] = default
        if description:
            schema["description"] = description
        return schema


class Encoding(Enum):
    """How a document is encoded."""

    JSON = "json"
    PROTOBUF = "protobuf"
