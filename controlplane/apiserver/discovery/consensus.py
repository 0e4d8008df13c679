"""One order out of several: what one list has before another item stays before it.

Source: behaviour of kubernetes/apimachinery ``pkg/util/sort`` (MergePreservingRelativeOrder).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["consensus"]


def consensus(lists: Sequence[Sequence[str]]) -> list[str]:
    """All items once, in an order that agrees with all lists.

    What no list orders is in alphabetical order, as is everything if the lists contradict each other. A list that has
    all items is the order.
    """
    after: dict[str, set[str]] = {}
    for items in lists:
        for item in items:
            after.setdefault(item, set())
        for item, following in pairwise(items):
            after[item].add(following)
    for items in lists:
        if len(items) == len(after) == len(set(items)):
            return list(items)
    before = dict.fromkeys(after, 0)
    for followings in after.values():
        for following in followings:
            before[following] += 1
    free = [item for item, count in before.items() if not count]
    heapq.heapify(free)
    ordered: list[str] = []
    while free:
        item = heapq.heappop(free)
        ordered.append(item)
        for following in after[item]:
            before[following] -= 1
            if not before[following]:
                heapq.heappush(free, following)
    return ordered if len(ordered) == len(after) else sorted(after)
