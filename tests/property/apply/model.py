"""Merging and ownership by their definition: sets of paths, walked whole each time.

Slow and plain, so that it can be read against the contract (sigs.k8s.io/structured-merge-diff, whose rules it states)
and the fast implementation be held against it. It knows one version and one type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controlplane.apimachinery.patch.structured.fieldset import Fields
from controlplane.apimachinery.patch.structured.types import Type
from controlplane.apimachinery.patch.structured.values import ABSENT, equal, item_element, kind_of

__all__ = ["Conflicts", "Model", "Owner", "extract", "fields_of", "paths_of"]

Path = tuple[str, ...]
Paths = frozenset[Path]
Owner = tuple[str, str]
"""Name and operation."""


class Conflicts(Exception):
    """An apply without force would take these."""

    def __init__(self, fields: set[tuple[Owner, Path]]) -> None:
        super().__init__()
        self.fields = fields


def paths_of(fields: Fields, prefix: Path = ()) -> Paths:
    """A set as it is on the wire, as paths."""
    found: set[Path] = set()
    for element, node in fields.items():
        if element == ".":
            found.add(prefix)
        else:
            path = (*prefix, element)
            found |= paths_of(node, path) if node else {path}
    return frozenset(found)


def _granular(kind: str, type_: Type) -> bool:
    if kind == "map":
        return type_.map is not None and not type_.map.atomic
    return kind == "list" and type_.list is not None and type_.list.associative


def _parts(value: Any, kind: str, type_: Type) -> dict[str, list[Any]]:
    """The parts of a granular value by element, several where an item stands more than once; none of another value."""
    parts: dict[str, list[Any]] = {}
    if not _granular(kind, type_):
        return parts
    if kind == "map" and isinstance(value, dict):
        for name, item in value.items():
            parts["f:" + name] = [item]
    elif kind == "list" and isinstance(value, list):
        assert type_.list is not None
        for item in value:
            parts.setdefault(item_element(type_.list, item), []).append(item)
    return parts


def _part_type(type_: Type, element: str) -> Type:
    if element.startswith("f:"):
        assert type_.map is not None
        found = type_.map.field(element[2:])
    else:
        assert type_.list is not None
        found = type_.list.element
    assert found is not None
    return found


def fields_of(value: Any, type_: Type, path: Path = ()) -> Iterator[Path]:
    kind = kind_of(value, type_)
    if not _granular(kind, type_):
        yield path
        return
    for element, items in _parts(value, kind, type_).items():
        below = (*path, element)
        undeclared = kind == "map" and type_.map is not None and not type_.map.declares(element[2:])
        if kind == "list" or undeclared or items[0] is None or items[0] == {}:
            yield below
        if len(items) == 1:
            yield from fields_of(items[0], _part_type(type_, element), below)


@dataclass
class Difference:
    removed: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    added: set[Path] = field(default_factory=set)


def compare(old: Any, new: Any, type_: Type, path: Path, out: Difference) -> None:
    """Either may be ABSENT."""
    old_kind = kind_of(old, type_) if old is not ABSENT else kind_of(new, type_)
    new_kind = kind_of(new, type_) if new is not ABSENT else old_kind
    for kind in {old_kind, new_kind}:
        olds, news = _parts(old, kind, type_), _parts(new, kind, type_)
        if olds or news:
            for element in olds | news:
                _compare_part(
                    olds.get(element, []), news.get(element, []), _part_type(type_, element), (*path, element), out
                )
        elif old is not ABSENT and new is not ABSENT and not equal(old, new):
            out.modified.add(path)
    if old is ABSENT:
        out.added.add(path)
    elif new is ABSENT:
        out.removed.add(path)


def _compare_part(olds: list[Any], news: list[Any], type_: Type, path: Path, out: Difference) -> None:
    if len(olds) <= 1 and len(news) <= 1:
        compare(olds[0] if olds else ABSENT, news[0] if news else ABSENT, type_, path, out)
    elif len(olds) > 1 and len(news) > 1:
        if not equal(olds, news):
            out.modified.add(path)
    elif len(olds) > 1:
        if news:
            compare(ABSENT, news[0], type_, path, out)
        out.removed.add(path)
    else:
        if olds:
            compare(olds[0], ABSENT, type_, path, out)
        out.added.add(path)


def remove(value: Any, gone: Paths, type_: Type) -> Any:
    kind = kind_of(value, type_)
    if kind == "scalar":
        return value
    if not value or not _granular(kind, type_):
        return None

    def below(element: str) -> Paths:
        return frozenset(p[1:] for p in gone if p[0] == element and len(p) > 1)

    def kept(element: str, item: Any) -> Any:
        if not below(element):
            return item
        left = remove(item, below(element), _part_type(type_, element))
        return type(item)() if left is None and isinstance(item, (dict, list)) else left

    if kind == "map":
        return {n: kept("f:" + n, v) for n, v in value.items() if ("f:" + n,) not in gone} or None
    assert type_.list is not None
    elements = [item_element(type_.list, item) for item in value]
    return [kept(e, v) for e, v in zip(elements, value, strict=True) if (e,) not in gone] or None


def extract(value: Any, wanted: Paths, type_: Type) -> Any:
    """The part of a value that a set names."""
    kind = kind_of(value, type_)
    if not value or not _granular(kind, type_):
        return value

    def below(element: str) -> Paths:
        return frozenset(p[1:] for p in wanted if p[0] == element and len(p) > 1)

    def is_wanted(element: str) -> bool:
        return (element,) in wanted or bool(below(element))

    def part(element: str, item: Any) -> Any:
        return extract(item, below(element), _part_type(type_, element))

    if kind == "map":
        return {n: part("f:" + n, v) for n, v in value.items() if is_wanted("f:" + n)}
    assert type_.list is not None
    elements = [item_element(type_.list, item) for item in value]
    return [part(e, v) for e, v in zip(elements, value, strict=True) if is_wanted(e)]


def named(paths: Paths, type_: Type) -> Paths:
    """With the declared fields on the way to each as members."""
    found = set(paths)
    for path in paths:
        at: Type | None = type_
        for length, element in enumerate(path[:-1], start=1):
            assert at is not None
            if element.startswith("f:"):
                if at.map is not None and at.map.declares(element[2:]):
                    found.add(path[:length])
                at = at.map.field(element[2:]) if at.map is not None else None
            else:
                at = at.list.element if at.list is not None else None
    return frozenset(found)


def below_any(path: Path, tops: Paths) -> bool:
    return any(path[:length] in tops for length in range(1, len(path) + 1))


class Model:
    """Ownership of one object. ``merge`` is given: how values are merged is a matter of its own."""

    def __init__(self, type_: Type, system: Paths) -> None:
        self.type, self.system = type_, system
        self.owners: dict[Owner, Paths] = {}

    def update(self, live: Any, new: Any, name: str) -> None:
        changes = self._difference(live, new)
        self._take(changes, None, force=True)
        mine = (frozenset(changes.modified) | frozenset(changes.added)) - self.system
        if mine:
            self.owners[name, "Update"] = self.owners.get((name, "Update"), frozenset()) | mine

    def apply(self, live: Any, config: Any, merged: Any, name: str, *, force: bool) -> Any:
        """Returns what becomes of ``merged`` (``live`` with ``config`` merged into it)."""
        me = (name, "Apply")
        last = self.owners.get(me, frozenset())
        before = dict(self.owners)
        self.owners[me] = frozenset(fields_of(config, self.type))
        new = self._prune(merged, last)
        try:
            self._take(self._difference(live, new), me, force=force)
        except Conflicts:
            self.owners = before
            raise
        self.owners[me] -= self.system
        if not self.owners[me]:
            del self.owners[me]
        return new

    def _difference(self, old: Any, new: Any) -> Difference:
        found = Difference()
        compare(old, new, self.type, (), found)
        return found

    def _take(self, changes: Difference, me: Owner | None, *, force: bool) -> None:
        others = {owner: owned for owner, owned in self.owners.items() if owner != me}
        lost = {(o, p) for o, owned in others.items() for p in owned if p in changes.modified | changes.added}
        if lost and not force:
            raise Conflicts(lost)
        for owner, owned in others.items():
            left = owned - changes.modified - changes.added - changes.removed
            if left:
                self.owners[owner] = left
            else:
                del self.owners[owner]

    def _prune(self, merged: Any, last: Paths) -> Any:
        if not last:
            return merged
        type_ = self.type
        all_named = named(frozenset(fields_of(merged, type_)), type_)
        pruned = remove(merged, named(last, type_), type_) or {}
        owned = named(frozenset(p for paths in self.owners.values() for p in paths), type_)
        kept = named(frozenset(fields_of(pruned, type_)), type_) | owned
        pruned = remove(merged, all_named - kept, type_) or {}
        gone = all_named - named(frozenset(fields_of(pruned, type_)), type_)
        return remove(merged, gone & named(last, type_), type_) or {}
