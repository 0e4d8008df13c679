"""Environments for tests of the expression language."""

from __future__ import annotations

from controlplane.cel.environment import Environment
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.standard.comprehensions import BINDINGS
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import BOOL, BYTES, DOUBLE, DYN, INT, STRING, list_of, map_of

__all__ = ["ENVIRONMENT", "VALUES"]

VALUES: dict[str, object] = {
    "a": 7,
    "b": True,
    "s": "hello",
    "empty": "",
    "data": b"abc",
    "x": 1.5,
    "words": ["ab", "cd", "ef"],
    "numbers": [3, 1, 2],
    "m": {"one": 1, "two": 2},
    "o": {"name": "n", "items": [{"name": "p"}, {"name": "q"}], "flag": True, "count": 3, "nothing": None},
    "long": "x" * 500,
}
ENVIRONMENT = Environment(
    [STANDARD, BINDINGS, *libraries()],
    variables={
        "a": INT,
        "b": BOOL,
        "s": STRING,
        "empty": STRING,
        "data": BYTES,
        "x": DOUBLE,
        "words": list_of(STRING),
        "numbers": list_of(INT),
        "m": map_of(STRING, INT),
        "o": DYN,
        "long": STRING,
    },
)
