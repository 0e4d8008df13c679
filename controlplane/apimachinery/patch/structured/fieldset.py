"""Sets of fields, in the very form in which ``fieldsV1`` keeps them: nested objects.

A node says what is owned below one path. ``{}`` is a leaf: the field itself is a member. ``{".": {}, "f:a": …}`` is a
member with members below it; without ``"."`` only what is below belongs to the set. The root has no ``"."``, and
``{}`` as a root is the empty set. Sets are never changed once they are built, so parts of one may stand in another.

Source: set semantics of sigs.k8s.io/structured-merge-diff ``fieldpath.Set``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controlplane.apimachinery.patch.structured.elements import canonical, sort_key

__all__ = [
    "SELF",
    "Fields",
    "children",
    "decode",
    "difference",
    "has",
    "intersection",
    "is_member",
    "node_of",
    "paths",
    "recursive_difference",
    "subset",
    "union",
]

Fields = dict[str, Any]
SELF = "."
"""The key that makes a node with something below it a member itself."""


def is_member(node: Fields) -> bool:
    """Whether the path of this node is itself in the set."""
    return not node or SELF in node


def children(node: Fields) -> Fields:
    """The elements below a node."""
    return {e: n for e, n in node.items() if e != SELF} if SELF in node else node


def node_of(below: Fields, *, member: bool) -> Fields | None:
    """A node from its parts; None if nothing is left."""
    if not below:
        return {} if member else None
    return {SELF: {}, **below} if member else below


def has(root: Fields, path: tuple[str, ...]) -> bool:
    """Whether this very path is a member."""
    node = root
    for element in path:
        below = node.get(element)
        if below is None:
            return False
        node = below
    return bool(path) and is_member(node)


def subset(root: Fields, element: str) -> Fields:
    """What is below one element, as a set of its own."""
    node = root.get(element)
    return children(node) if node else {}


def union(a: Fields, b: Fields) -> Fields:
    """Members of either; ``a`` itself if that is all of them."""
    if not a or a is b:
        return b
    out = a
    for element, node in b.items():
        mine = a.get(element)
        joined = node if mine is None else _union_nodes(mine, node)
        if joined is not mine:
            if out is a:
                out = dict(a)
            out[element] = joined
    return out


def _union_nodes(a: Fields, b: Fields) -> Fields:
    if a is b:
        return a
    if not a or not b:  # one is a leaf: a member, with whatever the other has below
        node = a or b
        return node if is_member(node) else {SELF: {}, **node}
    return union(a, b)


def intersection(a: Fields, b: Fields) -> Fields:
    """Members of both."""
    out: Fields = {}
    for element, node in a.items():
        other = b.get(element)
        if other is not None and element != SELF:
            kept = node_of(
                intersection(node, other) if node and other else {}, member=is_member(node) and is_member(other)
            )
            if kept is not None:
                out[element] = kept
    return out


def difference(a: Fields, b: Fields) -> Fields:
    """Members of ``a`` that are not members of ``b``; ``a`` itself if that is all. What is below a member of ``b``
    stays."""
    out = a
    for element, other in b.items():
        node = a.get(element)
        if node is None or element == SELF:
            continue
        kept = _subtract(node, other)
        if kept is node:
            continue
        if out is a:
            out = dict(a)
        if kept is None:
            del out[element]
        else:
            out[element] = kept
    return out


def _subtract(node: Fields, other: Fields) -> Fields | None:
    """A node without the members of another; None if nothing is left."""
    taken = is_member(other)
    if not node:
        return None if taken else node
    below = difference(node, other)
    if not taken or SELF not in node:
        if below is node:
            return node
        left = len(below) - (SELF in below)
        return below if left else ({} if SELF in below else None)
    return children(below) or None


def recursive_difference(a: Fields, b: Fields) -> Fields:
    """``a`` without the members of ``b`` and all that is below them; ``a`` itself if that is all."""
    out = a
    for element, other in b.items():
        node = a.get(element)
        if node is None or element == SELF:
            continue
        kept: Fields | None = None
        if not is_member(other):
            below = recursive_difference(children(node), other)
            kept = node_of(below, member=is_member(node))
            if kept == node:
                continue
        if out is a:
            out = dict(a)
        if kept is None:
            del out[element]
        else:
            out[element] = kept
    return out


def paths(root: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All members: those of one level in order, then what is below them."""
    ordered = sorted((e for e in root if e != SELF), key=sort_key)
    for element in ordered:
        if is_member(root[element]):
            yield (*prefix, element)
    for element in ordered:
        if root[element]:
            yield from paths(root[element], (*prefix, element))


def decode(raw: Any) -> Fields:
    """A client's ``fieldsV1`` as a set: its elements made canonical, unknown ones dropped; ``raw`` itself if it is one.

    Raises:
        ValueError: not a set of fields.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ValueError(f"fieldsV1 must be an object, not {type(raw).__name__}")
    if _is_canonical(raw):
        return raw
    out: Fields = {}
    for element, node in raw.items():
        if element == SELF:
            out[SELF] = {}
            continue
        known = element if element.startswith("f:") else canonical(element)
        if known is not None:
            out[known] = decode(node)
    return out


def _is_canonical(raw: Fields) -> bool:
    for element, node in raw.items():
        if element[:2] != "f:" and element != SELF and canonical(element) != element:
            return False
        if node:
            if not isinstance(node, dict) or element == SELF or not _is_canonical(node):
                return False
        elif node != {}:
            return False
    return True
