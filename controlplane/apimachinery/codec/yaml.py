"""YAML text to JSON values and back, read as Kubernetes reads it.

A document becomes what its JSON would be: keys are strings, times are text (JSON has none), sexagesimal numbers are
text, infinities are refused. Only the first document counts. What a document stands for is bounded: aliases must not
multiply it, and it may be nested as deep as JSON may.

Reading costs about half a millisecond for 1 KB of small values, a hundred times what JSON does: JSON is tried first
wherever a text may be either, and a server reads large texts off its loop.

Source: the dialect of sigs.k8s.io/yaml (YAML 1.1 without base 60, to JSON).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from controlplane.apimachinery.codec import json
from controlplane.apimachinery.codec.json import MalformedJSON, TooDeep

__all__ = ["MalformedYAML", "dumps", "loads", "loads_strict"]

MAX_ALIASED_VALUES = 100_000
"""How many values a document with aliases may stand for."""
MAX_MERGED_KEYS = 10_000
"""How many keys one mapping may get by merging (``<<``)."""

_TAG = "tag:yaml.org,2002:"
_SEXAGESIMAL = re.compile(r"[^:]*:.*", re.DOTALL)
_SPACES = re.compile(r"\s+")


class MalformedYAML(MalformedJSON):
    """The text is not YAML, or stands for nothing that JSON can express."""


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with Kubernetes' scalars. ``repeated``: the keys given twice."""

    def __init__(self, stream: bytes | str) -> None:
        super().__init__(stream)
        self.repeated: list[str] = []

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        given = len(node.value)
        super().flatten_mapping(node)
        if len(node.value) > max(given, MAX_MERGED_KEYS):
            raise MalformedYAML("yaml: document contains excessive aliasing")

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        if not isinstance(node, yaml.MappingNode):
            raise _malformed(node, "a mapping was expected")
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = _key_text(self.construct_object(key_node, deep=True), key_node)
            if key in mapping:
                self.repeated.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def _malformed(node: yaml.Node, problem: str) -> MalformedYAML:
    return MalformedYAML(f"yaml: line {node.start_mark.line + 1}: {problem}")


def _problem(error: yaml.YAMLError) -> str:
    """What the parser says, as Go's port of it does: the line where the construct began, if it is not the first."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return _SPACES.sub(" ", str(error))
    begin, here = (mark.line if mark is not None else 0 for mark in (error.context_mark, error.problem_mark))
    line = begin or here
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return (f"line {line}: " if line else "") + (error.problem or "unknown problem parsing YAML content")


def _key_text(key: Any, node: yaml.Node) -> str:
    """A key as JSON has it."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, float)):
        return str(key)
    raise _malformed(node, "a key must be text")


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    if _SEXAGESIMAL.fullmatch(node.value):
        return _text(loader, node)
    value = loader.construct_yaml_int(node)
    return value if -(2**63) <= value < 2**64 else float(value)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float | str:
    if _SEXAGESIMAL.fullmatch(node.value):
        return _text(loader, node)
    value = loader.construct_yaml_float(node)
    if value - value != 0:  # infinite, or no number
        raise _malformed(node, f"{node.value} is not a number in JSON")
    return value


def _text(loader: _Loader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _malformed(node, f"{node.tag} must be a scalar")
    return str(loader.construct_scalar(node))


def _refuse(_loader: _Loader, node: yaml.Node) -> Any:
    raise _malformed(node, f"unsupported tag {node.tag}")


_Loader.add_constructor(_TAG + "int", _integer)
_Loader.add_constructor(_TAG + "float", _float)
for _name in ("timestamp", "binary", "value"):
    _Loader.add_constructor(_TAG + _name, _text)
for _name in ("omap", "pairs", "set"):
    _Loader.add_constructor(_TAG + _name, _refuse)
_Loader.add_constructor(None, _refuse)


def loads(text: bytes | str) -> Any:
    """Decode the first document; an empty text is null.

    Raises:
        MalformedYAML: with the line. TooDeep: nested deeper than JSON may be.
    """
    return loads_strict(text)[0]


def loads_strict(text: bytes | str) -> tuple[Any, list[str]]:
    """Decode as ``loads``, and tell which keys were given twice (``line 4: key "k" already set in map``); the last one
    wins."""
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        value = loader.get_data()
        if ("*" in text) if isinstance(text, str) else (b"*" in text):
            _refuse_multiplied(value)
        # through JSON: proves that the value is expressible, and makes shared parts separate
        return json.loads(json.dumps(value)), loader.repeated
    except yaml.YAMLError as e:
        raise MalformedYAML(f"yaml: {_problem(e)}") from e
    except RecursionError:
        raise TooDeep from None
    except MalformedJSON:
        raise
    except (ValueError, TypeError, OverflowError) as e:
        raise MalformedYAML(f"yaml: {e}") from e
    finally:
        if loader is not None:
            loader.dispose()


def _refuse_multiplied(value: Any) -> None:
    """Count what aliases stand for, each time they do."""
    counts: dict[int, int] = {}

    def count(part: Any) -> int:
        if not isinstance(part, (dict, list)):
            return 1
        known = counts.get(id(part))
        if known is not None:
            return known
        counts[id(part)] = MAX_ALIASED_VALUES + 1  # stays if the part contains itself
        total = 1 + sum(map(count, part.values() if isinstance(part, dict) else part))
        counts[id(part)] = total
        return total

    if count(value) > MAX_ALIASED_VALUES:
        raise MalformedYAML("yaml: document contains excessive aliasing")


def dumps(value: Any) -> bytes:
    """Encode, keys sorted, in block style.

    Raises:
        TooDeep: nested deeper than MAX_DEPTH.
    """
    separate = json.loads(json.dumps(value))  # what stands twice is written twice, not as an alias
    text: bytes = yaml.dump(
        separate, Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True, default_flow_style=False, width=2**20
    )
    return text
