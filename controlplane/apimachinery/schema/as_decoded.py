"""Whether an object that somebody else stored is as its decoder would have left it, told without changing it.

The decoder makes what the rest of the program relies on: types, and fields that are always there. It takes several
times as long as to look whether there is anything for it to do. So here: a schema is compiled once into closures that
say yes or no; where they say no the decoder is asked, which finds what is wrong, or puts it right.

Two things are let be, that harm nobody: fields that the schema does not know (a later release's), and empty values of
fields that are left out when they are empty. A schema inside itself (those of definitions) is not entered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from re import Pattern
from typing import Any

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import Decoder, always_there, decode_metadata
from controlplane.apimachinery.schema.native import DEFINITION, GO_TYPE, QUANTITY, UNION
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apimachinery.schema.scalars import CANONICAL_MICRO_TIME, CANONICAL_TIME, is_canonical_base64

__all__ = ["AsDecoded", "metadata_as_decoded"]

_Check = Callable[[Any], bool]


class AsDecoded:
    """One version of one kind; ``schema`` as a ``Decoder`` takes it, compiled when the first object comes."""

    __slots__ = ("_check", "_decoder", "_kind", "_schema")

    def __init__(self, kind: str, schema: Callable[[], Obj]) -> None:
        self._kind, self._schema = kind, schema
        self._check: _Check | None = None
        self._decoder: Decoder | None = None

    def of(self, obj: Obj, text: bytes) -> Obj:
        """The object as its decoder would leave it, with the fields that it does not know; ``obj`` itself if it is so.

        Args:
            obj: not changed. ``text``: what it was read from.

        Raises:
            DecodeError: a value has the wrong type or form.
        """
        check = self._check
        if check is None:
            schema = self._schema()
            properties = {k: v for k, v in schema.get("properties", {}).items() if k not in _IDENTITY}
            check = self._check = _record({**schema, "properties": properties})
        if check(obj) and _is_sound(obj["metadata"]):
            return obj
        if self._decoder is None:
            self._decoder = Decoder(self._kind, self._schema())
        decoded = loads(text)
        self._decoder.decode(decoded)
        return _settled(decoded, obj)


def metadata_as_decoded(obj: Obj, text: bytes) -> Obj:
    """The same of an object whose metadata alone are Kubernetes' own. Raises as ``AsDecoded.of``."""
    if _is_sound(obj["metadata"]):
        return obj
    decoded = loads(text)
    decode_metadata(decoded)
    return _settled(decoded, obj)


def _settled(decoded: Obj, obj: Obj) -> Obj:
    settled: Obj = _restored(decoded, obj)
    return obj if settled == obj else settled


def _restored(decoded: Any, stored: Any) -> Any:
    """What was decoded, with what was dropped on the way and is not null."""
    if type(decoded) is dict and type(stored) is dict:
        for key, value in stored.items():
            if key in decoded:
                decoded[key] = _restored(decoded[key], value)
            elif value is not None:
                decoded[key] = value
    elif type(decoded) is list and type(stored) is list:
        return [_restored(*pair) for pair in zip(decoded, stored, strict=True)]
    return decoded


_IDENTITY = frozenset(("apiVersion", "kind", "metadata"))


def _is_sound(metadata: Any) -> bool:
    return _metadata()(metadata)


@cache
def _metadata() -> _Check:
    # nobody relies on any of its fields to be there
    return _record(OBJECT_META, required=False)


# ---- compiling, as in ``decode``


def _compile(schema: Obj) -> _Check:
    if UNION in schema:
        return _union(schema[UNION])
    if DEFINITION in schema:
        return _is_object
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _record(schema)
        case "object" if "additionalProperties" in schema:
            return _mapping(schema["additionalProperties"])
        case "array":
            return _array(schema["items"])
        case "object":
            return _is_object
        case _:
            return _scalar(schema)


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _never(_value: Any) -> bool:
    """Always the decoder's business."""
    return False


_TIMES_REMEMBERED = 4096


def _matching(pattern: Pattern[str]) -> _Check:
    matches = lru_cache(_TIMES_REMEMBERED)(pattern.fullmatch)  # most objects were made when others were
    return lambda value: type(value) is str and matches(value) is not None


def _is_base64(value: Any) -> bool:
    return type(value) is str and is_canonical_base64(value)


def _scalar(schema: Obj) -> _Check:
    match (schema.get("type"), schema.get("format"), schema.get(GO_TYPE)):
        case ("string", "date-time", "v1.MicroTime"):
            return _matching(CANONICAL_MICRO_TIME)
        case ("string", "date-time", _):
            return _matching(CANONICAL_TIME)
        case ("string", "byte", _):
            return _is_base64
        case ("string", _, go_type) if go_type == QUANTITY:
            return _never
        case ("string", _, _):
            return _is_text
        case ("integer", "int64", _):
            return _is_int64
        case ("integer", _, _):
            return _is_int32
        case ("boolean", _, _):
            return _is_boolean
        case _:
            return _is_number


_JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array"}


def _union(alternatives: Obj) -> _Check:
    if not alternatives:
        return lambda _value: True
    checks = {name: _compile(schema) for name, schema in alternatives.items() if name}

    def check(value: Any) -> bool:
        chosen = checks.get(_JSON_TYPES.get(type(value), ""))
        return chosen is not None and chosen(value)

    return check


_TEXT = frozenset({str})


def _array(items: Obj) -> _Check:
    check_item = _compile(items)
    if check_item is _is_text:
        return lambda value: type(value) is list and _TEXT.issuperset(map(type, value))

    def check(value: Any) -> bool:
        if type(value) is not list:
            return False
        for item in value:  # noqa: SIM110  # twice as fast as all() for the few that there are
            if not check_item(item):
                return False
        return True

    return check


def _mapping(values: Obj) -> _Check:
    check_value = _compile(values)
    if check_value is _is_text:
        return lambda value: type(value) is dict and _TEXT.issuperset(map(type, value.values()))
    return lambda value: type(value) is dict and all(map(check_value, value.values()))


def _record(schema: Obj, *, required: bool = True) -> _Check:
    properties: dict[str, Obj] = schema["properties"]
    there = always_there(schema)
    nullable = frozenset(name for name, can_be_null in there.items() if can_be_null)
    always = frozenset(there if required else ())
    fields = {name: _compile(field) for name, field in properties.items()}
    texts = frozenset(name for name, check in fields.items() if check is _is_text)
    checks = {name: check for name, check in fields.items() if check is not _is_text}

    def check(value: Any) -> bool:
        if type(value) is not dict or (always and not always <= value.keys()):
            return False
        for key, item in value.items():
            if key in texts:
                if type(item) is not str:
                    return False
            elif key in checks:
                if item is None:
                    if key not in nullable:
                        return False
                elif not checks[key](item):
                    return False
        return True

    return check
