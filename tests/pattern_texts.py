"""Texts that match a regular expression: enough of the syntax for the patterns that people give in schemas."""

from __future__ import annotations

import random
import re
from importlib import import_module
from typing import Any

# Python's own parser; stubs do not have it, and mypy forgets between two runs that it was told to look away
ops: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

__all__ = ["Unreadable", "text_matching"]


class Unreadable(Exception):
    """The pattern uses what is not understood here."""


def text_matching(pattern: str, source: random.Random, least: int = 0) -> str:
    """A text that a pattern finds something in, of at least ``least`` characters if repetition allows.

    Raises:
        Unreadable.
    """
    try:
        tree = parser.parse(pattern)
    except re.error as error:
        raise Unreadable(pattern) from error
    for more in (0, 1, least, 2 * least):
        text = "".join(_texts(tree, source, more))
        if len(text) >= least and re.search(pattern, text):
            return text
    raise Unreadable(pattern)


def _texts(tree: Any, source: random.Random, more: int) -> list[str]:
    return [_text(op, argument, source, more) for op, argument in tree]


def _text(op: Any, argument: Any, source: random.Random, more: int) -> str:
    if op is ops.LITERAL:
        return chr(argument)
    if op is ops.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if op is ops.ANY:
        return "a"
    if op is ops.AT:
        return ""
    if op is ops.IN:
        return _one_of(argument, source)
    if op is ops.BRANCH:
        return "".join(_texts(source.choice(argument[1]), source, more))
    if op is ops.SUBPATTERN:
        return "".join(_texts(argument[-1], source, more))
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        low, high, inner = argument
        top = low + more if high is ops.MAXREPEAT else min(int(high), low + max(more, 1))
        count = top if more else source.randint(low, max(low, min(top, low + 2)))
        return "".join("".join(_texts(inner, source, more)) for _ in range(count))
    raise Unreadable(str(op))


_CATEGORIES = {ops.CATEGORY_DIGIT: "0123456789", ops.CATEGORY_WORD: "abc_9", ops.CATEGORY_SPACE: " "}


def _one_of(members: Any, source: random.Random) -> str:
    if members and members[0][0] is ops.NEGATE:
        forbidden = {chr(argument) for op, argument in members[1:] if op is ops.LITERAL}
        ranges = [argument for op, argument in members[1:] if op is ops.RANGE]
        for char in "abcxyz0123ABC_-./ ":
            if char not in forbidden and not any(low <= ord(char) <= high for low, high in ranges):
                return char
        raise Unreadable("a class that excludes all")
    op, argument = source.choice(members)
    if op is ops.LITERAL:
        return chr(argument)
    if op is ops.RANGE:
        return chr(source.randint(argument[0], min(argument[1], argument[0] + 30)))
    if op is ops.CATEGORY and argument in _CATEGORIES:
        return source.choice(_CATEGORIES[argument])
    raise Unreadable(str(op))
