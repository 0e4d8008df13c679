"""The standard library: what every environment has."""

from __future__ import annotations

from controlplane.cel.functions import Library
from controlplane.cel.standard import conversions, operators, texts, times
from controlplane.cel.standard.macros import MACROS
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    list_of,
    map_of,
)

__all__ = ["STANDARD"]

STANDARD = Library(
    functions=operators.FUNCTIONS + conversions.FUNCTIONS + texts.FUNCTIONS + times.FUNCTIONS,
    macros=MACROS,
    types={
        "bool": BOOL,
        "bytes": BYTES,
        "double": DOUBLE,
        "int": INT,
        "list": list_of(DYN),
        "map": map_of(DYN, DYN),
        "null_type": NULL,
        "string": STRING,
        "type": TYPE,
        "uint": UINT,
        "google.protobuf.Timestamp": TIMESTAMP,
        "google.protobuf.Duration": DURATION,
    },
)
