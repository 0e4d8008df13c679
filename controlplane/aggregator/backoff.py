"""How long to wait before something that failed is tried again: twice as long after each failure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Backoff"]

K = TypeVar("K", bound=Hashable)
_DOUBLINGS = 30


class Backoff(Generic[K]):
    """Counts failures by key. Delays are in seconds."""

    def __init__(self, first_seconds: float, longest_seconds: float) -> None:
        self._first, self._longest = first_seconds, longest_seconds
        self._failures: dict[K, int] = {}

    def failed(self, key: K) -> float:
        """One more failure: the delay after it."""
        failures = self._failures.get(key, 0)
        self._failures[key] = min(failures + 1, _DOUBLINGS)
        return float(min(self._first * 2**failures, self._longest))

    def forget(self, key: K) -> None:
        """It has succeeded, or is gone."""
        self._failures.pop(key, None)
