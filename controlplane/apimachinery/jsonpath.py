"""JSONPath as Kubernetes uses it in columns and selectable fields: ``.status.conditions[?(@.type=="Ready")].status``.

Fields, indices, slices, unions, ``*``, ``..`` and filters that compare. A path that leads nowhere finds nothing; nor
does one that reaches past the end of a list, or asks for an item of what is none. A name in brackets is a path, too:
dots in it need a backslash.

Source: kubernetes/client-go ``util/jsonpath``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["JSONPath", "JSONPathError"]

_Step = Callable[[Any], Iterator[Any]]
_NAME = re.compile(r"(?:[^.\[\]\\'\" ()=<>!&|]|\\.)+")
_INDEX = re.compile(r"\[(-?[0-9]+|)\]")
_SLICE = re.compile(r"\[(-?[0-9]+|):(-?[0-9]+|)(?::(-?[0-9]+|))?\]")
_QUOTED = re.compile(r"\['([^'\],]*)'\]")
_UNION = re.compile(r"\[([^\],?]*(?:,[^\],]*)+)\]")
_FILTER = re.compile(r"\[\?\((.*?)\)\](?=$|[.\[])")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPathError(ValueError):
    """The path cannot be read."""


class _Astray(Exception):
    """The path asks for what a value cannot have: nothing is found."""


class JSONPath:
    """A compiled path."""

    __slots__ = ("_names", "_steps")

    def __init__(self, path: str) -> None:
        self._steps = tuple(_compile(path))
        plain = re.fullmatch(r"(?:\.[A-Za-z0-9_-]+)+", path)
        self._names = tuple(path[1:].split(".")) if plain else None

    def find(self, value: Any) -> list[Any]:
        """All values found, in order."""
        if self._names is not None:  # nearly all paths
            for name in self._names:
                if type(value) is not dict or name not in value:
                    return []
                value = value[name]
            return [value]
        try:
            return _follow(self._steps, value)
        except _Astray:
            return []


def _follow(steps: Sequence[_Step], value: Any) -> list[Any]:
    """What steps lead to.

    Raises:
        _Astray.
    """
    found = [value]
    for step in steps:
        found = [inner for one in found for inner in step(one)]
    return found


def _compile(path: str) -> Iterator[_Step]:
    at = 0
    while at < len(path):
        if path.startswith("..", at):
            if path.startswith("....", at):  # each further one would multiply what is found
                raise JSONPathError(f"descends twice at once: {path!r} at {at}")
            at += 2
            yield _everything
            if at < len(path) and path[at] not in ".[":
                at = at - 1  # what follows is read as a field
                continue
        elif path[at] == ".":
            at += 1
            if at == len(path) or path[at] == "[":
                continue
            if path[at] == "*":
                at += 1
                yield _children
                continue
            name = _NAME.match(path, at)
            if name is None:
                raise JSONPathError(f"cannot read {path!r} at {at}")
            at = name.end()
            yield _field(re.sub(r"\\(.)", r"\1", name[0]))
        else:
            step, at = _bracket(path, at)
            yield step


def _bracket(path: str, at: int) -> tuple[_Step, int]:
    if path.startswith("[*]", at):
        return _part(None, None, None), at + 3
    if found := _QUOTED.match(path, at):
        return _within(f".{found[1]}"), found.end()
    if found := _UNION.match(path, at):
        parts = [tuple(_compile(f"[{part.strip(' ')}]")) for part in found[1].split(",")]
        return lambda value: (inner for part in parts for inner in _follow(part, value)), found.end()
    if found := _INDEX.match(path, at):
        return _item(int(found[1] or 0)), found.end()
    if found := _SLICE.match(path, at):
        start, stop, step = (int(part) if part else None for part in found.groups())
        return _part(start, stop, step), found.end()
    if found := _FILTER.match(path, at):
        return _filter(found[1]), found.end()
    raise JSONPathError(f"cannot read {path!r} at {at}")


def _within(path: str) -> _Step:
    steps = tuple(_compile(path))
    return lambda value: iter(_follow(steps, value))


def _field(name: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if type(value) is dict and name in value:
            yield value[name]

    return step


def _item(index: int) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if value is None:
            return
        if type(value) is not list or not -len(value) <= index < len(value):
            raise _Astray
        yield value[index]

    return step


def _part(start: int | None, stop: int | None, stride: int | None) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if value is None:
            return
        if type(value) is not list:
            raise _Astray
        size = len(value)
        first = (start or 0) + (size if (start or 0) < 0 else 0)
        last = size if stop is None else stop + (size if stop < 0 else 0)
        if first == last:
            return
        if not (0 <= first < size and first < last <= size) or (stride is not None and stride <= 0):
            raise _Astray
        yield from value[first : last : stride or 1]

    return step


def _children(value: Any) -> Iterator[Any]:
    if type(value) is dict:
        yield from value.values()
    elif type(value) is list:
        yield from value


def _everything(value: Any) -> Iterator[Any]:
    """A value and all that is in it, but for what has nothing in it: that is no place to go on from."""
    if value and isinstance(value, (dict, list, str)):
        yield value
    for inner in _children(value):
        yield from _everything(inner)


def _filter(text: str) -> _Step:
    comparison = _COMPARISON.fullmatch(text)
    if comparison is not None:
        left, right, name = _operand(comparison[1]), _operand(comparison[3]), comparison[2]

        def holds(item: Any) -> bool:
            lefts = left(item)
            return bool(lefts) and _compare(lefts, right(item), name)

    else:
        inner = _operand(text)

        def holds(item: Any) -> bool:
            try:
                return bool(inner(item))
            except _Astray:
                return True  # there is something, if not all of the way

    def step(value: Any) -> Iterator[Any]:
        if type(value) is not list:
            raise _Astray
        yield from (item for item in value if holds(item))

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    """One side of a comparison: a path from the item, or a literal."""
    text = text.strip(" ")
    if text[:1] in {"@", "$"}:
        steps = tuple(_compile(text[1:]))
        return lambda item: _follow(steps, item)
    literal = [_literal(text)]
    return lambda _item: literal


def _literal(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise JSONPathError(f"cannot read the literal {text!r}") from None


def _compare(lefts: list[Any], rights: list[Any], name: str) -> bool:
    """Only one scalar can be compared with one of the same type (1 and 1.0 are not), and booleans have no order.

    Raises:
        _Astray.
    """
    if not rights:
        return False
    compare = _OPERATORS.get(name)
    if len(lefts) > 1 or len(rights) > 1 or compare is None:
        raise _Astray
    kind = type(lefts[0])
    if (
        kind is not type(rights[0])
        or kind not in (bool, int, float, str)
        or (kind is bool and name not in ("==", "!="))
    ):
        raise _Astray
    return compare(lefts[0], rights[0])
