"""How much one call may build.

What a call costs is counted when it has been made, and some of upstream's costs go by the input alone: a list of one
long string, joined or replaced, could fill the memory for the price of one. So whatever may build more than it was
given asks here first. Beyond these bounds the evaluation is cut off as at its cost limit, which it would exceed anyway
for any use of the result.
"""

from __future__ import annotations

from controlplane.cel.errors import CostExceeded
from controlplane.cel.values import Value

__all__ = ["MAX_CHARACTERS", "MAX_ITEMS", "MAX_VISITS", "check_characters", "check_items", "check_visits"]

MAX_ITEMS = 1_000_000
"""Of a list. Kubernetes' limit for the cost of one call is as much, and each item costs at least 1."""
MAX_CHARACTERS = 10_000_000
"""Of a string: a tenth of a unit of cost each."""
MAX_VISITS = 200_000
"""Values that one walk through a list or map meets. A list of two, each of them a list of the same two, and so on, fits
in little memory and takes for ever to go through."""


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
    """Refuse to walk through a value that would take more than MAX_VISITS steps, shared parts counted each time.

    Raises:
        CostExceeded.
    """
    if not isinstance(value, list | dict):
        return
    left, todo = MAX_VISITS, [value]
    while todo:
        current = todo.pop()
        left -= len(current)
        if left < 0:
            raise CostExceeded
        items = current.values() if isinstance(current, dict) else current
        todo.extend(item for item in items if isinstance(item, list | dict))
