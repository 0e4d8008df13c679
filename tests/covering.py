"""Choosing a few sets out of many booleans, so that every pair is in one of them together."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

__all__ = ["covering_sets"]

_CANDIDATES = 12


def covering_sets(names: Sequence[str], *, seed: int) -> list[frozenset[str]]:
    """Sets of names, each half of them, such that any two names are in some set together. Greedy; by a fixed seed."""
    source = random.Random(seed)
    missing = {frozenset(pair) for pair in itertools.combinations(names, 2)}
    sets: list[frozenset[str]] = []
    while missing:
        candidates = [frozenset(source.sample(names, len(names) // 2)) for _ in range(_CANDIDATES)]
        best = max(candidates, key=lambda chosen: sum(pair <= chosen for pair in missing))
        if any(pair <= best for pair in missing):
            sets.append(best)
            missing = {pair for pair in missing if not pair <= best}
    return sets
