"""How much one call may build.

What a call costs is counted when it has been made, and some of upstream's costs go by the input alone: a list of one
long string, joined or replaced, could fill the memory for the price of one. So whatever may build more than it was
given asks here first. Beyond these bounds the evaluation is cut off as at its cost limit, which it would exceed anyway
for any use of the result.
"""

from __future__ import annotations

from controlplane.cel.errors import CostExceeded
from controlplane.cel.values import Value

__all__ = ["MAX_CHARACTERS", "MAX_ITEMS", "check_characters", "check_items", "check_visits"]

MAX_ITEMS = 1_000_000
"""Of a list. Kubernetes' limit for the cost of one call is as much, and each item costs at least 1."""
MAX_CHARACTERS = 10_000_000
"""Of a string: a tenth of a unit of cost each."""
_MAX_CONTAINERS = 25_000
"""Lists and maps that one walk through a value meets. A list of two, each of them a list of the same two, and so on,
fits in little memory and takes for ever to go through."""

_CONTAINERS = frozenset({list, dict})


def check_items(count: int) -> None:
    """Refuse to build a list of more than MAX_ITEMS.

    Raises:
        CostExceeded.
    """
    if count > MAX_ITEMS:
        raise CostExceeded


def check_characters(count: int) -> None:
    """Refuse to build a text of more than MAX_CHARACTERS.

    Raises:
        CostExceeded.
    """
    if count > MAX_CHARACTERS:
        raise CostExceeded


def check_visits(value: Value) -> None:
    """Refuse to walk through a value that would take too long, shared parts counted each time.

    Raises:
        CostExceeded: it holds more than MAX_ITEMS values, or too many lists and maps.
    """
    if not isinstance(value, list | dict):
        return
    items, containers, todo = 0, 0, [value]
    while todo:
        current = todo.pop()
        items += len(current)
        containers += 1
        if items > MAX_ITEMS or containers > _MAX_CONTAINERS:
            raise CostExceeded
        values = current.values() if isinstance(current, dict) else current
        if not _CONTAINERS.isdisjoint(map(type, values)):
            todo.extend(item for item in values if isinstance(item, list | dict))
