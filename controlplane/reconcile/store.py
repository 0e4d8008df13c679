"""What an informer knows: the objects of one resource in memory, by key and by index.

Objects are shared by all who read them and must not be changed: copy before editing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from controlplane.apimachinery.identity import Key, Obj

__all__ = ["IndexFunction", "ObjectStore"]

IndexFunction = Callable[[Obj], Iterable[str]]
"""The values under which an object is found in one index; none, one or several."""


class ObjectStore:
    """Objects by key, and by the values of named indexes. Reading never waits and never fails for what is absent."""

    __slots__ = ("_functions", "_indexes", "_objects")

    def __init__(self, indexers: Mapping[str, IndexFunction] | None = None) -> None:
        self._objects: dict[Key, Obj] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {}
        for name, function in (indexers or {}).items():
            self.add_index(name, function)

    def get(self, key: Key) -> Obj | None:
        return self._objects.get(key)

    def objects(self) -> list[Obj]:
        """All objects now, in no particular order."""
        return list(self._objects.values())

    def by_index(self, name: str, value: str) -> list[Obj]:
        """The objects that the index ``name`` has under ``value``.

        Raises:
            KeyError: there is no such index.
        """
        return [self._objects[key] for key in self._indexes[name].get(value, ())]

    def keys_beside(self, others: Mapping[Key, Obj]) -> AbstractSet[Key]:
        """The keys that are here and not in ``others``."""
        return self._objects.keys() - others.keys()

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[Obj]:
        return iter(self.objects())

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep one more index, over what is there too.

        Raises:
            ValueError: the name is taken by another function.
        """
        if self._functions.get(name, function) is not function:
            raise ValueError(f"index {name!r} exists already, with another function")
        self._functions[name] = function
        index = self._indexes[name] = {}
        for key, obj in self._objects.items():
            for value in function(obj):
                index.setdefault(value, {})[key] = None

    def put(self, key: Key, obj: Obj) -> Obj | None:
        """Add or replace an object (the informer alone calls this). Returns the one before."""
        old = self._objects.get(key)
        if old is not None:
            self._unindex(key, old)
        self._objects[key] = obj
        for name, function in self._functions.items():
            index = self._indexes[name]
            for value in function(obj):
                index.setdefault(value, {})[key] = None
        return old

    def remove(self, key: Key) -> Obj | None:
        """Drop an object (the informer alone calls this). Returns it."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(key, old)
        return old

    def _unindex(self, key: Key, obj: Obj) -> None:
        for name, function in self._functions.items():
            index = self._indexes[name]
            for value in function(obj):
                keys = index.get(value)
                if keys is not None:
                    keys.pop(key, None)
                    if not keys:
                        del index[value]
