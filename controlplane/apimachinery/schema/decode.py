"""From a request's JSON to a native object: types checked, unknown fields dropped, empty ones as Kubernetes has them.

Kubernetes decodes into typed structs and writes them back; what a client sees is the result. So here: null is the empty
value; an empty field is left out unless it is required or a pointer; an object that is no pointer is always there;
times and base64 come out in their canonical form. Field names are case-sensitive.

A schema is compiled once into closures that change the object in place; paths are only put together for containers.

Source: the behaviour and texts of Kubernetes' JSON decoder (sigs.k8s.io/json over Go's encoding/json).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, Self

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GVK, Obj
from controlplane.apimachinery.quantity import QuantityError, parse_quantity
from controlplane.apimachinery.schema.conversion_text import not_converted
from controlplane.apimachinery.schema.native import ALWAYS, DEFINITION, GO_TYPE, POINTER, QUANTITY, UNION
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apimachinery.schema.scalars import normalize_base64, normalize_micro_time, normalize_time

__all__ = [
    "DecodeError",
    "Decoder",
    "ObjectDecoder",
    "SpelledFloat",
    "always_there",
    "cannot_be_handled",
    "decode_metadata",
    "definition_decoder",
    "is_compiled",
    "strict_error",
]


MAX_REPORTED = 100
"""Unknown fields told of one object, as many as upstream tells; each becomes a Warning header."""


class DecodeError(ValueError):
    """The JSON does not fit the kind; the message is that of Kubernetes' decoder.

    ``converted``: the same of a tree of values that never was one text (``conversion_text``).
    """

    converted: str

    def __init__(self, message: str, converted: str = "") -> None:
        super().__init__(message)
        self.converted = converted or message


class SpelledFloat(float):
    """A number that remembers how it was written, for errors about it."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        """``text``: a JSON number."""
        made = super().__new__(cls, text)
        made.text = text
        return made


class _Mismatch(Exception):
    """A value of the wrong type, on its way up to the object: it is told which fields it stands in, innermost first.
    The decoder's messages name fields only, neither indices of lists nor keys of maps."""

    def __init__(self, value: Any, go_type: str, go_kind: str = "", *, shown: str = "") -> None:
        super().__init__(go_type)
        self.value, self.what, self.go_type, self.go_kind = (
            value,
            shown or _json_type(value),
            go_type,
            go_kind or go_type,
        )
        self.struct, self.fields, self.converted = "", list[str](), ""

    def error(self, go_type: str = "") -> DecodeError:
        """What is told of it. ``go_type``: the type of the object, if the value is the object itself."""
        if not self.fields:
            return DecodeError(f"json: cannot unmarshal {self.what} into Go value of type {go_type or self.go_type}")
        where = f"{self.struct}.{'.'.join(reversed(self.fields))}"
        return DecodeError(
            f"json: cannot unmarshal {self.what} into Go struct field {where} of type {self.go_type}",
            self.converted or not_converted(self.value, self.go_type, self.go_kind),
        )


_Decode = Callable[[Any, str, list[str]], Any]
"""Takes a value, its path (ending in a dot when something follows) and the list of unknown fields; returns the value to
keep."""


class ObjectDecoder(Protocol):
    """Checks and normalises objects of one version of one kind."""

    def decode(self, obj: Obj) -> list[str]:
        """See ``Decoder.decode``."""


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


class Decoder:
    """The decoder of one version of one kind; ``schema`` need not describe apiVersion, kind and metadata."""

    __slots__ = ("_decode", "kind")

    def __init__(self, kind: str, schema: Obj) -> None:
        self.kind = kind
        properties = {
            "kind": {"type": "string"},
            "apiVersion": {"type": "string"},
            **schema.get("properties", {}),
            "metadata": OBJECT_META,
        }
        self._decode = _record({**schema, "properties": properties, GO_TYPE: f"v1.{kind}"})

    def decode(self, obj: Obj) -> list[str]:
        """Check and normalise an object, in place.

        Returns:
            What it had and the kind has not, each as ``unknown field "spec.x"``, in document order, each once and
            MAX_REPORTED at most.

        Raises:
            DecodeError: a value has the wrong type or form.
        """
        unknown: list[str] = []
        try:
            self._decode(obj, "", unknown)
        except _Mismatch as e:
            raise e.error(f"v1.{self.kind}") from None
        if not unknown:
            return unknown
        return [f'unknown field "{path}"' for path in list(dict.fromkeys(unknown))[:MAX_REPORTED]]


def decode_metadata(obj: Obj) -> list[str]:
    """Check and normalise an object's ``metadata`` alone, in place.

    Returns:
        The paths, below it, of what metadata does not have.

    Raises:
        DecodeError: a value has the wrong type or form.
    """
    unknown: list[str] = []
    value = obj["metadata"]
    if value is None:
        obj["metadata"] = {}
        return unknown
    try:
        _metadata()(value, "", unknown)
    except _Mismatch as e:
        raise e.error() from None
    return list(dict.fromkeys(unknown))[:MAX_REPORTED]


@cache
def _metadata() -> _Decode:
    return _record(OBJECT_META)


def cannot_be_handled(gvk: GVK, problem: str, given: GVK | None = None) -> str:
    """What a client is told about a body that does not fit its kind (400 BadRequest). ``given``: the kind and version
    that it says it has, if not those."""
    given = given or gvk
    return f'{given.kind} in version "{given.version}" cannot be handled as a {gvk.kind}: {problem}'


def strict_error(problems: Sequence[str]) -> str:
    """All that strict decoding finds, as one problem."""
    return "strict decoding error: " + ", ".join(problems)


# ---- compiling: each function makes the decoder of one kind of schema


def _compile(schema: Obj) -> _Decode:
    if UNION in schema:
        return _union(schema[UNION])
    if DEFINITION in schema:
        return _recursive(schema[DEFINITION])
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _record(schema)
        case "object" if "additionalProperties" in schema:
            return _mapping(schema)
        case "array":
            return _array(schema)
        case "object":
            return _anything
        case _:
            return _scalar(schema)


def _scalar(schema: Obj) -> _Decode:
    match (schema.get("type"), schema.get("format"), schema.get(GO_TYPE)):
        case ("string", "date-time", "v1.MicroTime"):
            return _time(normalize_micro_time)
        case ("string", "date-time", _):
            return _time(normalize_time)
        case ("string", "byte", _):
            return _base64
        case ("string", _, go_type) if go_type == QUANTITY:
            return _quantity
        case ("string", _, _):
            return _string(schema.get(GO_TYPE, "string"))
        case ("integer", format_, _):
            return _integer(64 if format_ == "int64" else 32)
        case ("boolean", _, _):
            return _boolean
        case ("number", _, _):
            return _number
        case _:
            raise ValueError(f"a native schema cannot have {schema}")


def _string(go_type: str) -> _Decode:
    def decode(value: Any, _path: str, _unknown: list[str]) -> Any:
        if type(value) is str:
            return value
        raise _Mismatch(value, go_type, "string")

    return decode


def _boolean(value: Any, _path: str, _unknown: list[str]) -> Any:
    if type(value) is bool:
        return value
    raise _Mismatch(value, "bool")


def _integer(bits: int) -> _Decode:
    go_type, bound = f"int{bits}", 2 ** (bits - 1)

    def decode(value: Any, _path: str, _unknown: list[str]) -> Any:
        if type(value) is int:
            if -bound <= value < bound:
                return value
            raise _Mismatch(value, go_type, shown=f"number {value}")
        if isinstance(value, float):
            spelled = value.text if isinstance(value, SpelledFloat) else repr(value)
            raise _Mismatch(value, go_type, shown=f"number {spelled}")
        raise _Mismatch(value, go_type)

    return decode


def _number(value: Any, _path: str, _unknown: list[str]) -> Any:
    if type(value) is int:
        return value
    if type(value) is float:
        whole = int(value) if abs(value) < _WHOLE_FLOATS else value
        return whole if whole == value else value
    raise _Mismatch(value, "float64")


_WHOLE_FLOATS = 1e21
"""Below it, Go writes whole floats without a fraction or exponent."""


def _recursive(definition: Callable[[], Obj]) -> _Decode:
    """The definition is compiled when a value first reaches it."""
    compiled: list[_Decode] = []

    def decode(value: Any, path: str, unknown: list[str]) -> Any:
        if not compiled:
            compiled.append(definition_decoder(definition))
        return compiled[0](value, path, unknown)

    return decode


def definition_decoder(definition: Callable[[], Obj]) -> _Decode:
    """The decoder of ``native.recursive(definition)``, compiled once; a large one takes some milliseconds."""
    decode = _OF_DEFINITIONS.get(definition)
    if decode is None:
        decode = _OF_DEFINITIONS[definition] = _compile(definition())
    return decode


def is_compiled(definition: Callable[[], Obj]) -> bool:
    """Whether ``definition_decoder`` has it at hand."""
    return definition in _OF_DEFINITIONS


_OF_DEFINITIONS: dict[Callable[[], Obj], _Decode] = {}


def _union(alternatives: Obj) -> _Decode:
    otherwise = alternatives.get("", "")
    compiled: dict[str, _Decode] = {}

    def decode(value: Any, path: str, _unknown: list[str]) -> Any:
        if not alternatives:
            return value
        name = _json_type(value)
        name = "boolean" if name == "bool" else name
        if name not in alternatives:
            if otherwise:
                raise DecodeError(otherwise)
            return None
        if name not in compiled:
            compiled[name] = _compile(alternatives[name])
        try:
            return compiled[name](value, path, [])
        except _Mismatch as e:
            e.converted = str(e.error())  # these decode themselves from text there, and know nothing of what is around
            raise

    return decode


def _time(normalize: Callable[[str], str]) -> _Decode:
    def decode(value: Any, _path: str, _unknown: list[str]) -> Any:
        if type(value) is not str:  # times decode themselves there, and do not know their field
            raise DecodeError(f"json: cannot unmarshal {_json_type(value)} into Go value of type string")
        try:
            return normalize(value)
        except ValueError as e:
            raise DecodeError(str(e)) from None

    return decode


def _base64(value: Any, _path: str, _unknown: list[str]) -> Any:
    if type(value) is not str:
        raise _Mismatch(value, "[]uint8", "slice")
    try:
        return normalize_base64(value)
    except ValueError as e:
        raise DecodeError(str(e), f"error decoding from json: {e}") from None


def _quantity(value: Any, _path: str, _unknown: list[str]) -> Any:
    if type(value) is bool or not isinstance(value, (str, int, float)):
        shown = "true" if value is True else "false" if value is False else dumps(value).decode()
    else:
        shown = value if isinstance(value, str) else str(value)
    try:
        return str(parse_quantity(shown))
    except QuantityError as e:
        raise DecodeError(str(e)) from None


def _anything(value: Any, _path: str, _unknown: list[str]) -> Any:
    return value


def _array(schema: Obj) -> _Decode:
    items = schema["items"]
    go_type, decode_item, zero = _go_type(schema), _compile(items), _zero(items)

    def decode(value: Any, path: str, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise _Mismatch(value, go_type, "slice")
        prefix = path[:-1]
        for i, item in enumerate(value):
            value[i] = zero() if item is None else decode_item(item, f"{prefix}[{i}].", unknown)
        return value

    return decode


_TEXT = frozenset({str})


def _mapping(schema: Obj) -> _Decode:
    values = schema["additionalProperties"]
    go_type, decode_value, zero = _go_type(schema), _compile(values), _zero(values)
    texts = _is_text(values)

    def decode(value: Any, path: str, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise _Mismatch(value, go_type, "map")
        if texts and _TEXT.issuperset(map(type, value.values())):
            return value
        for key, item in value.items():
            value[key] = zero() if item is None else decode_value(item, f"{path}{key}.", unknown)
        return value

    return decode


def _record(schema: Obj) -> _Decode:
    properties: dict[str, Obj] = schema["properties"]
    go_type = schema.get(GO_TYPE, "")
    struct = go_type.rpartition(".")[2]
    always = {
        name: _null if can_be_null else _zero(properties[name]) for name, can_be_null in always_there(schema).items()
    }
    # an empty list or map is none at all, as it is after upstream has stored it; unless it is shown in errors before
    kept = {name for name, field in properties.items() if field.get(POINTER) or not _is_list_or_map(field)}
    kept &= {name for name, field in properties.items() if field.get(POINTER) or name in always}
    fields = {name: (_compile(field), _is_container(field), name in kept) for name, field in properties.items()}
    texts = frozenset(name for name, field in properties.items() if _is_text(field))

    def decode(value: Any, path: str, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise _Mismatch(value, go_type, "struct")
        dropped: list[str] | None = None
        key = ""
        try:
            for key, item in value.items():
                if type(item) is str and item and key in texts:
                    continue
                field = fields.get(key)
                if field is None:
                    unknown.append(path + key)
                elif item is not None:
                    decode_field, is_container, is_kept = field
                    new = decode_field(item, f"{path}{key}." if is_container else "", unknown)
                    if is_kept or new:
                        if new is not item:
                            value[key] = new
                        continue
                if dropped is None:
                    dropped = []
                dropped.append(key)
        except _Mismatch as e:
            e.struct = e.struct or struct
            e.fields.append(key)
            raise
        if dropped:
            for key in dropped:
                del value[key]
        for key, zero in always.items():
            if key not in value:
                value[key] = zero()
        return value

    return decode


def always_there(schema: Obj) -> dict[str, bool]:
    """The fields of a record that exist without being given, and whether they are null then: required ones, and objects
    and times that are no pointers."""
    properties: dict[str, Obj] = schema["properties"]
    required = {name for name, field in properties.items() if field.get(ALWAYS)}.union(schema.get("required", ()))
    return {
        name: bool(field.get(POINTER)) or ("properties" not in field and _zero(field) is _null)
        for name, field in properties.items()
        if name in required or (_is_struct(field) and not field.get(POINTER))
    }


def _is_text(schema: Obj) -> bool:
    """Whether every text is a value of a schema, as it is."""
    if UNION in schema or DEFINITION in schema or schema.get("type") != "string":
        return False
    return schema.get("format") not in {"date-time", "byte"} and schema.get(GO_TYPE) != QUANTITY


def _is_container(schema: Obj) -> bool:
    return schema.get("type") in {"object", "array"} or UNION in schema


def _is_list_or_map(schema: Obj) -> bool:
    return schema.get("type") == "array" or "additionalProperties" in schema


def _is_struct(schema: Obj) -> bool:
    return "properties" in schema or schema.get("format") == "date-time"


def _go_type(schema: Obj) -> str:
    """The name of a type in the decoder's messages."""
    if DEFINITION in schema:
        schema = schema[DEFINITION]()
    named: str = schema.get(GO_TYPE, "")
    if named:
        return named
    match schema.get("type"):
        case "array":
            return "[]" + _go_type(schema["items"])
        case "object" if "additionalProperties" in schema:
            return "map[string]" + _go_type(schema["additionalProperties"])
        case "integer":
            return "int64" if schema.get("format") == "int64" else "int32"
        case "boolean":
            return "bool"
        case "number":
            return "float64"
        case "string" if schema.get("format") == "byte":
            return "[]uint8"
        case _:
            return "string"


def _zero(schema: Obj) -> Callable[[], Any]:
    """Makes the empty value of a schema, each time anew."""
    if DEFINITION in schema:
        return dict
    match schema.get("type"):
        case "object" if "properties" in schema:
            decode = _compile(schema)
            return lambda: decode({}, "", [])
        case "string" if schema.get(GO_TYPE) == QUANTITY:
            return lambda: "0"
        case "string" if schema.get("format") != "date-time":
            return str
        case "integer":
            return int
        case "boolean":
            return bool
        case _:
            return _null


def _null() -> None:
    """What a list, a map or a time that is missing but required is written as."""
