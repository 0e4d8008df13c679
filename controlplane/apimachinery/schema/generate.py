"""Validators as generated Python code, by shape.

A shape is which keywords a schema uses, not their values: the code of ``{"maxLength": 5}`` is that of every text with a
longest length, and the 5 is a constant of the function made from it. So there are few shapes, each is compiled once for
all schemas, and a validator of one more node costs a call. Nothing that a user writes becomes code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

__all__ = ["Check", "generate"]

Check = Callable[[Any], bool]
"""Whether a value fits."""


def generate(body: Sequence[str], constants: Mapping[str, object]) -> Check:
    """A function of ``x`` with the lines of ``body``, in which each name in ``constants`` is a constant."""
    maker = _maker(tuple(body), tuple(constants))
    check: Check = maker(*constants.values())
    return check


@lru_cache(maxsize=4096)
def _maker(body: tuple[str, ...], names: tuple[str, ...]) -> Callable[..., Check]:
    """Makes functions of one shape."""
    lines = [
        f"def make({', '.join(names)}):",
        "    def check(x):",
        *(f"        {line}" for line in body),
        "    return check",
    ]
    space: dict[str, Any] = {}
    exec(compile("\n".join(lines), "<validator>", "exec"), space)  # noqa: S102 - our own text; see above
    maker: Callable[..., Check] = space["make"]
    return maker
