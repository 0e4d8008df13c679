"""From the parser's events to a value: the first document of a text.

All of it is parsed before any of it is decoded, so that a fault of the text is told before a fault of a value. Texts of
errors, and which value counts where a key stands twice, are those of the Go package.

Source: go.yaml.in/yaml/v2 ``decode.go``, sigs.k8s.io/yaml ``yaml.go`` (convertToJSONableObject).
"""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

from controlplane.apimachinery.codec.json import MalformedJSON, TooDeep
from controlplane.apimachinery.codec.yaml_scalars import BadScalar, go_scalar, resolve, resolve_key

__all__ = ["MalformedYAML", "read"]

MAX_ALIASED_VALUES = 100_000
"""How many values a document may get by aliases."""
_MERGE_TAG = "tag:yaml.org,2002:merge"
_SPACES = re.compile(r"\s+")


class MalformedYAML(MalformedJSON):
    """The text is not YAML, or stands for nothing that JSON can express."""


class _Scalar(NamedTuple):
    line: int
    tag: str
    plain: bool
    text: str


class _Sequence(NamedTuple):
    line: int
    items: list[_Node]


class _Mapping(NamedTuple):
    line: int
    entries: list[tuple[_Node, _Node]]


class _Alias:
    """One place where an anchor's node stands again."""

    __slots__ = ("anchor", "line", "target")

    def __init__(self, line: int, anchor: str, target: _Node) -> None:
        self.line, self.anchor, self.target = line, anchor, target


_Node = _Scalar | _Sequence | _Mapping | _Alias


def read(text: bytes | str) -> tuple[Any, list[str]]:
    """The value, and which keys were given twice.

    Raises:
        MalformedYAML. TooDeep.
    """
    parser = CParser(text)
    try:
        node = _Parser(parser).document()
        if node is None:
            return None, []
        decoder = _Decoder()
        return decoder.value(node), decoder.repeated
    except yaml.YAMLError as error:
        raise MalformedYAML(f"yaml: {_problem(error)}") from error
    except BadScalar as error:
        raise MalformedYAML(f"yaml: {error}") from error
    except RecursionError:
        raise TooDeep from None
    finally:
        parser.dispose()


def _problem(error: yaml.YAMLError) -> str:
    """What the parser says, with the line unless it is the first."""
    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason)
    if not isinstance(error, yaml.MarkedYAMLError):
        return _SPACES.sub(" ", str(error))
    begin, here = (mark.line if mark is not None else 0 for mark in (error.context_mark, error.problem_mark))
    line = here + isinstance(error, yaml.scanner.ScannerError) if here else begin
    return (f"line {line}: " if line else "") + (error.problem or "unknown problem parsing YAML content")


class _Parser:
    """Nodes of events."""

    __slots__ = ("_anchors", "_next")

    def __init__(self, parser: Any) -> None:
        self._next = parser.get_event
        self._anchors: dict[str, _Node] = {}

    def document(self) -> _Node | None:
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        return self._node(self._next())

    def _node(self, event: Any) -> _Node:
        kind = type(event)
        line = event.start_mark.line + 1
        if kind is yaml.ScalarEvent:
            scalar = _Scalar(line, event.tag or "", event.implicit[0], event.value)
            return self._anchored(event, scalar)
        if kind is yaml.AliasEvent:
            if event.anchor not in self._anchors:
                raise MalformedYAML(f"yaml: unknown anchor '{event.anchor}' referenced")
            return _Alias(line, event.anchor, self._anchors[event.anchor])
        if kind is yaml.SequenceStartEvent:
            sequence = _Sequence(line, [])
            self._anchored(event, sequence)
            while type(inner := self._next()) is not yaml.SequenceEndEvent:
                sequence.items.append(self._node(inner))
            return sequence
        mapping = _Mapping(line, [])
        self._anchored(event, mapping)
        while type(inner := self._next()) is not yaml.MappingEndEvent:
            key = self._node(inner)
            mapping.entries.append((key, self._node(self._next())))
        return mapping

    def _anchored(self, event: Any, node: _Node) -> _Node:
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node


class _Decoder:
    """Values of nodes. ``repeated``: the keys given twice."""

    __slots__ = ("_aliased", "_depth", "_open", "repeated")

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._open: set[int] = set()
        self._aliased = self._depth = 0

    def value(self, node: _Node) -> Any:
        if self._depth:
            self._aliased += 1
            if self._aliased > MAX_ALIASED_VALUES:
                raise MalformedYAML("yaml: document contains excessive aliasing")
        kind = type(node)
        if kind is _Scalar:
            return self._scalar(node)
        if kind is _Sequence:
            return [self.value(item) for item in node.items]  # type: ignore[union-attr]  # its kind was asked
        if isinstance(node, _Alias):
            return self._again(node, self.value)
        mapping: dict[str, Any] = {}
        self._fill(mapping, node, {})
        return mapping

    def _scalar(self, node: Any) -> Any:
        if not node.tag and not node.plain:
            return node.text
        value = resolve(node.tag, node.text)
        if isinstance(value, float) and value - value != 0:
            raise MalformedYAML(f"json: unsupported value: {_infinite(value)}")
        return value

    def _again(self, alias: _Alias, use: Any) -> Any:
        if id(alias) in self._open:
            raise MalformedYAML(f"yaml: anchor '{alias.anchor}' value contains itself")
        self._open.add(id(alias))
        self._depth += 1
        value = use(alias.target)
        self._depth -= 1
        self._open.discard(id(alias))
        return value

    def _fill(self, mapping: dict[str, Any], node: Any, known: dict[Any, None]) -> None:
        for key_node, value_node in node.entries:
            if _is_merge(key_node):
                self._merge(mapping, value_node, known)
                continue
            key = self._key(key_node)
            value = self.value(value_node)
            if (type(key), key) in known:
                self.repeated.append(f"line {value_node.line}: key {go_scalar(key)} already set in map")
            known[type(key), key] = None
            mapping[_key_text(key, value)] = value

    def _key(self, node: _Node) -> Any:
        if isinstance(node, _Scalar) and node.plain and node.tag == "":
            value = resolve_key(node.text)
        else:
            value = self.value(node)
        if isinstance(value, (dict, list)):
            raise MalformedYAML(f"yaml: invalid map key: {_go_value(value)}")
        return value

    def _merge(self, mapping: dict[str, Any], node: _Node, known: dict[Any, None]) -> None:
        parts = reversed(node.items) if isinstance(node, _Sequence) else (node,)
        for part in parts:
            target = part.target if isinstance(part, _Alias) else part
            if not isinstance(target, _Mapping):
                raise MalformedYAML("yaml: map merge requires map or sequence of maps as the value")
            if isinstance(part, _Alias):
                self._again(part, lambda inner: self._fill(mapping, inner, known))
            else:
                self._fill(mapping, part, known)


def _is_merge(node: _Node) -> bool:
    return isinstance(node, _Scalar) and node.text == "<<" and (node.plain or node.tag == _MERGE_TAG)


def _key_text(key: Any, value: Any) -> str:
    """A key as JSON has it."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        shown = "<nil>" if value is None else _go_value(value)
        raise MalformedYAML(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
    return _short_float(key) if isinstance(key, float) else str(key)


def _short_float(value: float) -> str:
    """The shortest text that a 32-bit float reads back from."""
    if value - value != 0:
        return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}[_infinite(value)]
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next(text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == single)


def _infinite(value: float) -> str:
    return "+Inf" if value > 0 else "-Inf" if value < 0 else "NaN"


def _go_value(value: Any) -> str:
    """A value as Go's ``%#v`` prints it."""
    if isinstance(value, dict):
        inner = ", ".join(f"{go_scalar(k)}:{_go_value(v)}" for k, v in value.items())
        return f"map[interface {{}}]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_value, value))}}}"
    return go_scalar(value)
