"""One violation of a schema, before it is known under which path its object is told."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Problem"]


class Problem(NamedTuple):
    """``kind`` decides the cause: ``type``, ``required``, ``enum``, ``long``, ``many``, ``plain`` (it belongs to no
    field) or ``""`` (an invalid value). ``name``: the field's path below the root. ``text`` tells it apart from others.
    """

    kind: str
    name: str
    value: Any
    text: str
    limit: int = 0
    allowed: tuple[Any, ...] = ()
