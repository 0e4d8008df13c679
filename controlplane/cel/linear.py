"""Which patterns Python's ``re`` may search with: those it cannot take long over, and that mean the same to RE2.

``re`` goes back and tries again, so a pattern is given to it only if it is shown here that there is next to nothing to
try again. A pattern of the subset is read into a tree of character classes, sequences, choices and repetitions. Then at
every choice (which alternative, whether to take what is optional, whether to go on repeating) the characters that can
come first on each way are compared. If they have none in common, the next character decides, and a way that has failed
leaves no other: time is linear in the text. Three things more are allowed, since patterns are full of them:

* a class repeated and then once more a class that overlaps it (``[-a-z0-9]*[a-z0-9]``), if what comes next is in
  neither: going back over the run fails at the very next character each time;
* choices that overlap outside of repetitions: each at most multiplies the time by the number of ways, MAX_WAYS in all;
* no anchor at the front, if nothing is repeated without bound: each place costs at most the pattern's length.

What is accepted is written out anew for ``re``, so that nothing rests on how the two read a pattern. Not in the subset,
and therefore RE2's: flags, captures that are named, lazy repetition, word boundaries, anchors within, Unicode classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

__all__ = ["MAX_WAYS", "compile_linear"]

MAX_WAYS = 16
"""How often the same text may be gone over, for choices that overlap."""
_MAX_PATTERN = 1000
"""Longer patterns are not looked at."""
_MAX_REPEAT = 1000
"""RE2 refuses higher counts."""
_MAX_UNANCHORED = 64
"""Characters that a pattern without anchor may look at from each place."""
_UNBOUNDED = 1 << 30

_OTHER = 1 << 128
"""The characters beyond ASCII, all together."""
_ANY = (1 << 129) - 1
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/:@,=~%&;<>!#'\" ")
_ESCAPABLE = frozenset(".-/\\+*?()[]{}|^$:@,=~%&;<>!#'\"_ ".replace("_", "").replace(" ", ""))
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def _bits(chars: str) -> int:
    return reduce(or_, (1 << ord(char) if ord(char) < 128 else _OTHER for char in chars), 0)


_DIGITS = "0123456789"
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_SPACE = "\t\n\f\r "
"""As RE2 has it; Python counts the vertical tab too."""
_PERL = {"d": (r"0-9", _bits(_DIGITS)), "w": (r"0-9A-Za-z_", _bits(_WORD)), "s": (r"\t\n\f\r ", _bits(_SPACE))}


class _Unproved(Exception):
    """The pattern is not in the subset, or may take long."""


@dataclass(frozen=True, slots=True)
class _Class:
    """One character of a set."""

    first: int
    text: str
    nullable = False
    longest = 1


@dataclass(frozen=True, slots=True)
class _Sequence:
    items: tuple[_Node, ...]
    is_choice: bool = False
    """Whether it is nothing but alternatives without a bracket."""

    @property
    def nullable(self) -> bool:
        return all(item.nullable for item in self.items)

    @property
    def first(self) -> int:
        return _first_of(self.items, 0)

    @property
    def longest(self) -> int:
        return min(sum(item.longest for item in self.items), _UNBOUNDED)

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.items)


@dataclass(frozen=True, slots=True)
class _Choice:
    ways: tuple[_Sequence, ...]

    @property
    def nullable(self) -> bool:
        return any(way.nullable for way in self.ways)

    @property
    def first(self) -> int:
        return reduce(or_, (way.first for way in self.ways))

    @property
    def longest(self) -> int:
        return max(way.longest for way in self.ways)

    @property
    def text(self) -> str:
        return f"(?:{'|'.join(way.text for way in self.ways)})"


@dataclass(frozen=True, slots=True)
class _Repeat:
    """``item``, from ``least`` to ``most`` times (None: without bound)."""

    item: _Class | _Choice
    least: int
    most: int | None

    @property
    def nullable(self) -> bool:
        return self.least == 0

    @property
    def first(self) -> int:
        return self.item.first

    @property
    def longest(self) -> int:
        return _UNBOUNDED if self.most is None else min(self.most * self.item.longest, _UNBOUNDED)

    @property
    def text(self) -> str:
        return f"{self.item.text}{{{self.least},{'' if self.most is None else self.most}}}"


_Node = _Class | _Sequence | _Choice | _Repeat


def _first_of(items: tuple[_Node, ...], follow: int) -> int:
    """What can come first of a sequence, and of what follows it if it can be empty."""
    first = 0
    for item in items:
        first |= item.first
        if not item.nullable:
            return first
    return first | follow


def compile_linear(pattern: str) -> Callable[[str], re.Match[str] | None] | None:
    """What searches for a pattern in linear time, or None if it is not proved that anything of ``re`` does."""
    if len(pattern) > _MAX_PATTERN:
        return None
    at_start = pattern.startswith("^")
    body = pattern[at_start:]
    at_end = body.endswith("$") and not re.search(r"(?<!\\)(?:\\\\)*\\\$\Z", body)
    if at_end:
        body = body[:-1]
    try:
        tree = _Reader(body).read()
        if not at_start and tree.longest > _MAX_UNANCHORED:
            return None
        if (at_start or at_end) and tree.is_choice:  # the anchors of ^a|b$ belong to one way each
            return None
        _Proof().prove(tree)
    except (_Unproved, RecursionError):
        return None
    compiled = re.compile(tree.text + (r"\Z" if at_end else ""))
    return compiled.match if at_start else compiled.search


class _Reader:
    """Reads the subset; whatever else comes raises _Unproved."""

    __slots__ = ("pattern", "position")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    def read(self) -> _Sequence:
        whole = self._ways()
        if self.position < len(self.pattern):
            raise _Unproved
        return whole.ways[0] if len(whole.ways) == 1 else _Sequence((whole,), is_choice=True)

    def _peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise _Unproved
        self.position += 1
        return char

    def _ways(self) -> _Choice:
        ways = [self._sequence()]
        while self._peek() == "|":
            self.position += 1
            ways.append(self._sequence())
        if len(ways) > 1 and any(way.nullable for way in ways):
            raise _Unproved
        return _Choice(tuple(ways))

    def _sequence(self) -> _Sequence:
        items: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            items.append(self._repeated(self._atom()))
        return _Sequence(tuple(items))

    def _atom(self) -> _Class | _Choice:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == ".":
            return _Class(_ANY & ~_bits("\n"), ".")
        if char == "\\":
            return self._escape()
        if char in _PLAIN or (ord(char) >= 128 and char.isalnum()):
            return _Class(_bits(char), re.escape(char))
        raise _Unproved

    def _group(self) -> _Choice:
        if self._peek() == "?":
            if not self.pattern.startswith("?:", self.position):
                raise _Unproved
            self.position += 2
        choice = self._ways()
        if self._take() != ")":
            raise _Unproved
        return choice

    def _escape(self) -> _Class:
        char = self._take()
        if char in _PERL:
            text, bits = _PERL[char]
            return _Class(bits, f"[{text}]")
        if char in _CONTROL:
            return _Class(_bits(_CONTROL[char]), re.escape(_CONTROL[char]))
        if char in _ESCAPABLE:
            return _Class(_bits(char), re.escape(char))
        raise _Unproved

    def _class(self) -> _Class:
        negated = self._peek() == "^"
        self.position += negated
        bits, text = 0, ""
        while self._peek() != "]" or not text:
            item_bits, item_text, single = self._class_item()
            if self._peek() == "-" and not self.pattern.startswith("-]", self.position):
                self.position += 1
                _, _, end = self._class_item()
                if single is None or end is None or not single <= end or ord(end) >= 128:
                    raise _Unproved
                item_bits = _bits("".join(map(chr, range(ord(single), ord(end) + 1))))
                item_text = f"{re.escape(single)}-{re.escape(end)}"
            bits |= item_bits
            text += item_text
        self.position += 1
        if negated:
            return _Class((_ANY & ~bits) | _OTHER, f"[^{text}]")
        return _Class(bits, f"[{text}]")

    def _class_item(self) -> tuple[int, str, str | None]:
        """The bits, the text for ``re``, and the character if it is one."""
        char = self._take()
        if char == "\\":
            char = self._take()
            if char in _PERL:
                text, bits = _PERL[char]
                return bits, text, None
            if char in _CONTROL:
                char = _CONTROL[char]
            elif char not in _ESCAPABLE:
                raise _Unproved
        elif char in "[]" or ord(char) < 32 or ord(char) == 127:
            raise _Unproved
        return _bits(char), re.escape(char), char

    def _repeated(self, item: _Class | _Choice) -> _Node:
        char = self._peek()
        if char in ("*", "+", "?", "{") and item.nullable:
            raise _Unproved
        if char == "*":
            bounds: tuple[int, int | None] = (0, None)
        elif char == "+":
            bounds = (1, None)
        elif char == "?":
            bounds = (0, 1)
        elif char == "{":
            return self._counted(item)
        else:
            return item
        self.position += 1
        return self._once(_Repeat(item, *bounds))

    def _counted(self, item: _Class | _Choice) -> _Node:
        found = re.compile(r"\{([0-9]{1,4})(?:(,)([0-9]{1,4})?)?\}").match(self.pattern, self.position)
        if found is None:
            raise _Unproved
        self.position = found.end()
        least = int(found[1])
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > _MAX_REPEAT or (most is not None and most < max(least, 1)):
            raise _Unproved
        return self._once(_Repeat(item, least, most))

    def _once(self, repeat: _Repeat) -> _Repeat:
        """A repetition that is neither lazy nor repeated itself."""
        if self._peek() in ("*", "+", "?", "{"):
            raise _Unproved
        return repeat


class _Proof:
    """Goes through a tree and raises _Unproved where time may be more than linear."""

    __slots__ = ("ways",)

    def __init__(self) -> None:
        self.ways = 1

    def prove(self, tree: _Sequence) -> None:
        self._sequence(tree, 0, repeated=False)

    def _multiply(self, ways: int, *, repeated: bool) -> None:
        self.ways *= ways
        if repeated or self.ways > MAX_WAYS:
            raise _Unproved

    def _node(self, node: _Node, follow: int, *, repeated: bool) -> None:
        match node:
            case _Sequence():
                self._sequence(node, follow, repeated=repeated)
            case _Choice():
                self._choice(node, follow, repeated=repeated)
            case _Repeat():
                self._repeat(node, follow, repeated=repeated)
            case _Class():
                pass

    def _sequence(self, node: _Sequence, follow: int, *, repeated: bool) -> None:
        items = node.items
        for i, item in enumerate(items):
            after = _first_of(items[i + 1 :], follow)
            if _is_run(items, i, follow):
                continue
            self._node(item, after, repeated=repeated)

    def _choice(self, node: _Choice, follow: int, *, repeated: bool) -> None:
        seen, overlap = 0, False
        for way in node.ways:
            overlap = overlap or bool(seen & way.first)
            seen |= way.first
        if overlap:
            self._multiply(len(node.ways), repeated=repeated)
        for way in node.ways:
            self._sequence(way, follow, repeated=repeated)

    def _repeat(self, node: _Repeat, follow: int, *, repeated: bool) -> None:
        if node.least != node.most and node.first & follow:
            if node.most is None:
                raise _Unproved
            self._multiply(node.most - node.least + 1, repeated=repeated)
        again = node.most is None or node.most > 1
        self._node(node.item, follow | (node.first if again else 0), repeated=repeated or again)


def _is_run(items: tuple[_Node, ...], i: int, follow: int) -> bool:
    """Whether a class is repeated here and followed by a class once, and by neither after that."""
    item = items[i]
    if not (isinstance(item, _Repeat) and isinstance(item.item, _Class) and i + 1 < len(items)):
        return False
    end = items[i + 1]
    return isinstance(end, _Class) and not (item.first | end.first) & _first_of(items[i + 2 :], follow)
