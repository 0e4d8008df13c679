"""YAML text to JSON values and back, read as Kubernetes reads it.

A document becomes what its JSON would be: keys are strings, times are text (JSON has none), sexagesimal numbers are
text, infinities are refused. Only the first document counts. What a document stands for is bounded: aliases must not
multiply it, and it may be nested as deep as JSON may. What is written is what Kubernetes writes, byte by byte.

Reading costs about half a millisecond for 1 KB of small values, a hundred times what JSON does: JSON is tried first
wherever a text may be either, and a server reads large texts off its loop.

Source: the dialect of sigs.k8s.io/yaml (YAML 1.1 without base 60, to JSON).
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec import json
from controlplane.apimachinery.codec.yaml_reader import MalformedYAML, read
from controlplane.apimachinery.codec.yaml_writer import write

__all__ = ["MalformedYAML", "dumps", "loads", "loads_strict"]


def loads(text: bytes | str) -> Any:
    """Decode the first document; an empty text is null.

    Raises:
        MalformedYAML: with the line. TooDeep: nested deeper than JSON may be.
    """
    return loads_strict(text)[0]


def loads_strict(text: bytes | str) -> tuple[Any, list[str]]:
    """Decode as ``loads``, and tell which keys were given twice (``line 4: key "k" already set in map``); the last one
    wins."""
    value, repeated = read(text)
    # through JSON: proves that the value is expressible, and makes shared parts separate
    return json.loads(json.dumps(value)), repeated


def dumps(value: Any) -> bytes:
    """Encode as Kubernetes does.

    Raises:
        TooDeep: nested deeper than MAX_DEPTH.
    """
    return write(json.loads(json.dumps(value)))  # what stands twice is written twice, not as an alias
