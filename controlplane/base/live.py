"""A mapping that changes while others follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

__all__ = ["LiveMapping"]


class LiveMapping(Mapping[str, str]):
    """Names and texts, set by one part of a program and followed by another, on one loop.

    >>> settings = LiveMapping()
    >>> stop = settings.follow(lambda: print(dict(settings)))
    >>> settings.set("color", "red")
    {'color': 'red'}
    """

    __slots__ = ("_followers", "_values")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})
        self._followers: list[Callable[[], None]] = []

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def set(self, name: str, value: str | None) -> None:
        """Set a value, or with None remove it. Followers hear of it if it is another one."""
        if self._values.get(name) == value:
            return
        if value is None:
            del self._values[name]
        else:
            self._values[name] = value
        for follower in tuple(self._followers):
            follower()

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after every change. Returns how to stop."""
        self._followers.append(changed)
        return lambda: self._followers.remove(changed)
