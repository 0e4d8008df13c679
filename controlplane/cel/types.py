"""CEL's types: what the checker infers, what declarations state, and what ``type(x)`` yields at run time.

A type is immutable and equal to another of the same kind, name and parameters. ``str(type)`` is the text that stands in
compile errors.

Source: google/cel-spec ``doc/langdef.md`` (types), google/cel-go ``common/types/types.go`` and ``checker/format.go``.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "Kind",
    "Semantics",
    "Type",
    "list_of",
    "map_of",
    "object_type",
    "opaque",
    "optional_of",
    "param",
    "type_of_type",
]

Kind = Literal[
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "error",
    "int",
    "list",
    "map",
    "null_type",
    "object",
    "opaque",
    "param",
    "string",
    "timestamp",
    "type",
    "uint",
]


class Semantics:
    """How values of a declared list or map type compare and add where it is not the language's own way.

    A declaration provider subclasses it (sets compare without order, maps of lists by key). The type that carries it
    equals the plain type; expressions over the declared type use it.
    """

    __slots__ = ()

    def equal(self, left: object, right: object) -> bool:
        """Whether two values of this type are equal."""
        raise NotImplementedError

    def add(self, left: list[object], right: list[object]) -> list[object]:
        """``left + right``; a new list."""
        raise NotImplementedError


class Type:
    """One type. ``name`` tells objects, opaque types and parameters apart; ``params``: an item, a key and a value."""

    __slots__ = ("has_parameters", "kind", "name", "params", "semantics", "weight")

    def __init__(
        self, kind: Kind, name: str = "", params: tuple[Type, ...] = (), semantics: Semantics | None = None
    ) -> None:
        self.kind: Final = kind
        self.name: Final = name or kind
        self.params: Final = params
        self.semantics: Final = semantics
        self.has_parameters: bool = kind == "param" or (bool(params) and any(inner.has_parameters for inner in params))
        self.weight: int = 1 + sum(inner.weight for inner in params) if params else 1

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return self.kind == other.kind and self.name == other.name and self.params == other.params

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    def __str__(self) -> str:
        if self.kind == "error":
            return "!error!"
        if self.kind == "null_type":
            return "null"
        if self.params:
            return f"{self.name}({', '.join(map(str, self.params))})"
        return {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration"}.get(
            self.name, self.name
        )

    __repr__ = __str__

    @property
    def is_optional(self) -> bool:
        """Whether it is an ``optional_type(...)``."""
        return self.kind == "opaque" and self.name == "optional_type"


DYN = Type("dyn")
ERROR = Type("error")
NULL = Type("null_type")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
DURATION = Type("duration", "google.protobuf.Duration")
TYPE = Type("type")


def list_of(item: Type, semantics: Semantics | None = None) -> Type:
    """``list(item)``."""
    return Type("list", "", (item,), semantics)


def map_of(key: Type, value: Type, semantics: Semantics | None = None) -> Type:
    """``map(key, value)``."""
    return Type("map", "", (key, value), semantics)


def type_of_type(described: Type) -> Type:
    """``type(described)``: the type of a type's name in an expression."""
    return Type("type", "", (described,))


def object_type(name: str, semantics: Semantics | None = None) -> Type:
    """A declared object with fields; a declaration provider knows them by this name."""
    return Type("object", name, (), semantics)


def opaque(name: str, *params: Type) -> Type:
    """A type of a library that only its functions look into."""
    return Type("opaque", name, params)


def optional_of(value: Type) -> Type:
    """``optional_type(value)``."""
    return Type("opaque", "optional_type", (value,))


def param(name: str) -> Type:
    """A type parameter in a function's declaration, such as ``T``."""
    return Type("param", name)
