"""Objects made from a schema: valid ones, and ones in which a single keyword is violated.

Pseudo-random by a seed. What cannot be made (patterns beyond what ``from_pattern`` reads, contradictions) is left out,
and ``Unmakeable`` says so; the tests count how much that is.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from controlplane.apimachinery.identity import Obj
from tests.pattern_texts import Unreadable, text_matching

__all__ = ["Maker", "Unmakeable", "Violation", "violations"]


class Unmakeable(Exception):
    """No value is made for this schema."""


_FORMATS = {
    "date-time": "2026-11-30T08:15:00Z",
    "date": "2026-11-30",
    "duration": "1h",
    "byte": "YQ==",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "10.0.0.1",
    "ipv6": "::1",
    "ip": "10.0.0.1",
    "cidr": "10.0.0.0/8",
    "uri": "https://example.com/",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "mac": "00:00:5e:00:53:01",
}
_DEEP = 12
"""Below this only what is required is made."""


@dataclass
class Maker:
    """``fields`` is how likely an optional field is made. ``choose``: by keyword and place, which branch is taken."""

    seed: int
    fields: float = 0.5

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def value(self, schema: Obj, depth: int = 0, *, needed: frozenset[str] = frozenset()) -> Any:
        """A valid value.

        Raises:
            Unmakeable.
        """
        schema, needed = self._with_branches(schema, needed)
        if schema.get("enum"):
            allowed = [one for one in schema["enum"] if one is not None]
            if not allowed:
                raise Unmakeable("enum of null")
            return copy.deepcopy(self.random.choice(allowed))
        if schema.get("nullable") and self.random.random() < 0.1:
            return None
        if schema.get("x-kubernetes-int-or-string"):
            return self._number(schema) if not schema.get("pattern") else self._text(schema)
        match schema.get("type"):
            case "object":
                return self._object(schema, depth, needed)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._text(schema)
            case "integer":
                return self._number(schema)
            case "number":
                value = self._number(schema)
                return value if self.random.random() < 0.5 or value != int(value) else float(value)
            case "boolean":
                return self.random.random() < 0.5
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return {"anything": 1}
        raise Unmakeable(f"type {schema.get('type')!r}")

    def _with_branches(self, schema: Obj, needed: frozenset[str]) -> tuple[Obj, frozenset[str]]:
        """A schema with one branch of each junctor joined into it."""
        for keyword in ("allOf", "oneOf", "anyOf"):
            branches = schema.get(keyword)
            if not branches or (keyword == "anyOf" and schema.get("x-kubernetes-int-or-string")):
                continue
            chosen = branches if keyword == "allOf" else [self.random.choice(branches)]
            for branch in chosen:
                if branch.get("not") or branch.get("anyOf") or branch.get("oneOf") or branch.get("allOf"):
                    raise Unmakeable("junctors in junctors")
                schema = _joined(schema, branch)
        if schema.get("not") is not None and schema["not"].get("required"):
            needed -= frozenset(schema["not"]["required"])
        return schema, needed | frozenset(schema.get("required") or ())

    def _object(self, schema: Obj, depth: int, needed: frozenset[str]) -> Obj:
        made: Obj = {}
        if schema.get("x-kubernetes-embedded-resource"):
            made = {"apiVersion": "v1", "kind": "Kind", "metadata": {"name": "inner"}}
        unwanted = frozenset((schema.get("not") or {}).get("required") or ())
        for name, inner in (schema.get("properties") or {}).items():
            if name in made or (name in unwanted and name not in needed):
                continue
            if name in needed or (depth < _DEEP and self.random.random() < self.fields / (1 + depth / 4)):
                try:
                    made[name] = self.value(inner, depth + 1)
                except Unmakeable:
                    if name in needed:
                        raise
        if missing := needed - made.keys():
            raise Unmakeable(f"required and not described: {sorted(missing)}")
        extra = schema.get("additionalProperties")
        least, most = schema.get("minProperties") or 0, schema.get("maxProperties")
        if isinstance(extra, dict) and not schema.get("properties"):
            for i in range(max(least, self.random.randint(0, 2))):
                if most is None or len(made) < most:
                    made[f"key{i}"] = self.value(extra, depth + 1)
        if len(made) < least:
            for name, inner in (schema.get("properties") or {}).items():
                if len(made) < least and name not in made and name not in unwanted:
                    made[name] = self.value(inner, depth + 1)
        if len(made) < least or (most is not None and len(made) > most):
            raise Unmakeable("the number of fields")
        return made

    def _array(self, schema: Obj, depth: int) -> list[Any]:
        least, most = schema.get("minItems") or 0, schema.get("maxItems")
        count = least if depth >= _DEEP else max(least, self.random.randint(0, 2))
        if most is not None:
            count = min(count, most)
        items = schema.get("items") or {}
        list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
        made: list[Any] = []
        seen: set[str] = set()
        for _ in range(count * 5):
            if len(made) == count:
                break
            item = self.value(items, depth + 1, needed=frozenset(keys))
            mark = repr([item.get(key) for key in keys]) if list_type == "map" and type(item) is dict else repr(item)
            if item is None or (list_type in ("set", "map") and mark in seen):
                continue
            seen.add(mark)
            made.append(item)
        if len(made) < least:
            raise Unmakeable("not enough different items")
        return made

    def _text(self, schema: Obj) -> str:
        least, most = schema.get("minLength") or 0, schema.get("maxLength")
        format_name = schema.get("format") or ""
        if format_name in _FORMATS:
            text = _FORMATS[format_name]
        elif schema.get("pattern"):
            try:
                text = text_matching(schema["pattern"], self.random, least)
            except Unreadable as error:
                raise Unmakeable(str(error)) from error
        else:
            size = max(least, self.random.randint(0, 8))
            if most is not None:
                size = min(size, most)
            text = "".join(self.random.choice("abcxyz09-é") for _ in range(size))
        if len(text) < least or (most is not None and len(text) > most):
            raise Unmakeable("a text of this length")
        return text

    def _number(self, schema: Obj) -> float:
        least, most = schema.get("minimum"), schema.get("maximum")
        low = -(2**31) if least is None else least + bool(schema.get("exclusiveMinimum"))
        high = 2**31 - 1 if most is None else most - bool(schema.get("exclusiveMaximum"))
        if least is None and most is None:
            low, high = -100, 100
        step = schema.get("multipleOf") or 1
        low, high = max(low, high - 1000) if least is None else low, min(high, low + 1000) if most is None else high
        first = -(-low // step) * step
        count = int((high - first) // step)
        if count < 0:
            raise Unmakeable("a number between these bounds")
        value = first + step * self.random.randint(0, min(count, 1000))
        return int(value) if value == int(value) else float(value)


def _joined(schema: Obj, branch: Obj) -> Obj:
    """A schema with what a branch says, too; fields in both are joined."""
    joined = {**schema, "required": [*(schema.get("required") or ()), *(branch.get("required") or ())]}
    for keyword, value in branch.items():
        if keyword == "properties":
            fields = dict(schema.get("properties") or {})
            for name, inner in value.items():
                fields[name] = _joined(fields.get(name) or {}, inner)
            joined["properties"] = fields
        elif keyword != "required":
            joined[keyword] = value
    return joined


class Violation(NamedTuple):
    """An object with one fault: the ``keyword``, and the cause's ``field`` and ``reason`` that it must have."""

    keyword: str
    obj: Obj
    field: str
    reason: str


Spoil = Callable[[Any], Any]


def violations(obj: Obj, schema: Obj, *, limit: int) -> Iterator[Violation]:
    """Objects made from a valid one, each with one keyword violated, where no junctor is in the way."""
    for count, (place, field, keyword, value, reason, at) in enumerate(_faults(obj, schema, (), "")):
        if count >= limit:
            return
        yield Violation(keyword, _with(obj, place, value), at or field, reason)


_REMOVED: Any = object()
_Place = tuple[str | int, ...]
_Fault = tuple[_Place, str, str, Any, str, str]


def _with(obj: Obj, place: _Place, value: Any) -> Obj:
    changed = copy.deepcopy(obj)
    holder: Any = changed
    for step in place[:-1]:
        holder = holder[step]
    if value is _REMOVED:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return changed


def _faults(value: Any, schema: Obj, place: _Place, field: str) -> Iterator[_Fault]:
    junctors = any(schema.get(keyword) for keyword in ("allOf", "anyOf", "oneOf", "not"))
    if place and not junctors:
        yield from ((place, field, *fault, "") for fault in _scalar_faults(value, schema))
    match value:
        case dict():
            if not junctors:
                for name in schema.get("required") or ():
                    if name in value and not _has_default(schema, name):
                        yield (*place, name), field, "required", _REMOVED, "FieldValueRequired", _below(field, name)
            for name, inner in (schema.get("properties") or {}).items():
                if name in value and not (not place and name in ("apiVersion", "kind", "metadata")):
                    yield from _faults(value[name], inner, (*place, name), _below(field, name))
            extra = schema.get("additionalProperties")
            if isinstance(extra, dict):
                for name, item in value.items():
                    yield from _faults(item, extra, (*place, name), _below(field, name))
        case list():
            items = schema.get("items") or {}
            if place and value and schema.get("x-kubernetes-list-type") in ("set", "map"):
                keys = schema.get("x-kubernetes-list-map-keys") or ()
                if not keys or all(key in value[0] for key in keys):
                    most = schema.get("maxItems")
                    if most is None or len(value) < most:
                        at = f"{field}[{len(value)}]"
                        yield place, field, "duplicate", [*value, value[0]], "FieldValueDuplicate", at
            for i, item in enumerate(value):
                yield from _faults(item, items, (*place, i), f"{field}[{i}]")


def _has_default(schema: Obj, name: str) -> bool:
    return (schema.get("properties") or {}).get(name, {}).get("default") is not None


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _scalar_faults(value: Any, schema: Obj) -> Iterator[tuple[str, Any, str]]:
    """Keyword, the value that violates it, and the cause's reason."""
    type_name = schema.get("type")
    either = bool(schema.get("x-kubernetes-int-or-string"))
    if schema.get("x-kubernetes-embedded-resource"):
        return
    if either:
        yield "type", [], "FieldValueTypeInvalid"
    elif type_name and not schema.get("format"):
        yield "type", {"string": 5, "boolean": "x"}.get(type_name, "x"), "FieldValueTypeInvalid"
    if schema.get("enum"):
        if type_name == "string":
            yield "enum", "none of them", "FieldValueNotSupported"
        return
    if isinstance(value, str) and not either:
        if (most := schema.get("maxLength")) is not None and most < 100_000 and not schema.get("format"):
            yield "maxLength", "é" * (most + 1), "FieldValueTooLong"
        if schema.get("minLength") and not schema.get("format"):
            yield "minLength", "", "FieldValueInvalid"
        pattern = schema.get("pattern")
        if pattern and schema.get("minLength", 0) <= 3 and not re.search(pattern, "\n \n"):
            yield "pattern", "\n \n", "FieldValueInvalid"
        if schema.get("format") in ("date-time", "ipv4", "uuid", "byte", "cidr"):
            yield "format", "%", "FieldValueTypeInvalid"
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and type_name in ("integer", "number"):
        most, least = schema.get("maximum"), schema.get("minimum")
        if most is not None and abs(most) < 2**31 - 1:
            yield "maximum", int(most) + 1, "FieldValueInvalid"
        if least is not None and abs(least) < 2**31 - 1:
            yield "minimum", int(least) - 1, "FieldValueInvalid"
    elif isinstance(value, list):
        most = schema.get("maxItems")
        if most is not None and most < 1000 and value and not schema.get("x-kubernetes-list-type"):
            yield "maxItems", value[:1] * (most + 1), "FieldValueTooMany"
        if schema.get("minItems"):
            yield "minItems", [], "FieldValueInvalid"
    elif isinstance(value, dict):
        extra, most = schema.get("additionalProperties"), schema.get("maxProperties")
        if isinstance(extra, dict) and most is not None and most < 1000 and value:
            one = next(iter(value.values()))
            yield "maxProperties", {f"k{i}": one for i in range(most + 1)}, "FieldValueTooMany"
        if isinstance(extra, dict) and schema.get("minProperties"):
            yield "minProperties", {}, "FieldValueInvalid"
