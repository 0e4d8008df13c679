"""Regular expressions that users give: the syntax and the meaning of RE2, in linear time whatever the text.

A search by RE2 costs a few microseconds, most of them in the call. Patterns of which ``linear`` shows that ``re``
cannot take long over them either are given to ``re``, which is ten times sooner.

Both are imported when the first pattern comes: few servers have one before they are ready.

Source: Go's ``regexp`` (RE2 syntax), in which Kubernetes reads patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Protocol

__all__ = ["Found", "PatternError", "finder", "searcher"]

Search = Callable[[str], object]


class Found(Protocol):
    """A match: its text, and where it begins and ends, in code points."""

    def group(self) -> str:
        """The text."""

    def start(self) -> int:
        """Its first place."""

    def end(self) -> int:
        """The place after its last."""


_MEMORY_BYTES = 8 << 20
"""What one compiled pattern may take; RE2's own default."""

_WORDS = (
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("trailing \\", "trailing backslash at end of expression"),
    ("invalid repetition size", "invalid repeat count"),
    ("invalid escape sequence", "invalid escape sequence"),
    ("invalid character class range", "invalid character class range"),
    ("invalid UTF-8", "invalid UTF-8"),
    ("unexpected )", "unexpected )"),
    ("invalid named capture group", "invalid named capture"),
    ("pattern too large", "expression too large"),
)


class PatternError(ValueError):
    """No regular expression; the message is that of Go's parser."""


def searcher(pattern: str) -> Search:
    """How to look for a pattern in a text: a function that returns something true if it is there.

    Raises:
        PatternError.
    """
    found = _searcher(pattern)
    if isinstance(found, str):
        raise PatternError(found)
    return found


@lru_cache(maxsize=8192)
def _searcher(pattern: str) -> Search | str:
    """The same, or why there is none: finding that out may take as long."""
    try:
        return _new_searcher(pattern)
    except PatternError as error:
        return str(error)


def _new_searcher(pattern: str) -> Search:
    from controlplane.cel.linear import compile_linear

    simple = compile_linear(pattern)
    if simple is not None:
        return simple
    search = _compiled(pattern).search
    return lambda text: search(text.encode())  # given text it would count characters, for half of the time


@lru_cache(maxsize=1024)
def finder(pattern: str) -> Callable[[str], Iterator[Found]]:
    """How to find a pattern in a text: a function that yields matches from left to right.

    After a match without length, the next one begins a character later; it may be next to the end of the one before.

    Raises:
        PatternError.
    """
    find: Callable[[str], Iterator[Found]] = _compiled(pattern).finditer
    return find


class _Compiled(Protocol):
    def search(self, text: bytes) -> object: ...

    def finditer(self, text: str) -> Iterator[Found]: ...


_REPEATS = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_MAX_REPEATS = 4000
"""Of counted repetitions together: RE2 takes the square of it to compile, 20 ms at this. Go has no such bound, but
people do not come near it."""


def _compiled(pattern: str) -> _Compiled:
    repeats = sum(int(most or least) for least, most in _REPEATS.findall(pattern))
    if repeats > _MAX_REPEATS:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern}`")
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    try:
        compiled: _Compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(_go_message(pattern, error.args[0])) from None
    return compiled


def _go_message(pattern: str, text: object) -> str:
    """RE2's complaint in the words of Go's parser, which quotes the part that it means."""
    said = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    what, _, part = said.partition(": ")
    for ours, theirs in _WORDS:
        if what == ours:
            what = theirs
            break
    if what in ("unexpected )", "missing closing )"):
        part = pattern
    return f"error parsing regexp: {what}: `{part}`"
