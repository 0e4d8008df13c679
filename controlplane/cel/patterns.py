"""Regular expressions that users give: the syntax and the meaning of RE2, in linear time whatever the text.

A search by RE2 costs a few microseconds, most of them in the call. Patterns of a small subset, which ``re`` cannot take
long over either, are given to ``re``, which is ten times sooner.

Source: Go's ``regexp`` (RE2 syntax), in which Kubernetes reads patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import re2

__all__ = ["PatternError", "searcher"]

Search = Callable[[str], object]

_MEMORY_BYTES = 8 << 20
"""What one compiled pattern may take; RE2's own default."""

_ATOM = r"(?:\[\^?(?:[A-Za-z0-9_./:@ ,=+]|\\[./-]|(?<!-)-(?!-))+\]|[A-Za-z0-9_/:@,=-]|\\[./-])"
_FIXED = rf"(?:{_ATOM}(?:\{{[0-9]{{1,3}}\}})?)*"
_SIMPLE = re.compile(rf"\^{_FIXED}(?:{_ATOM}(?:[+*]|\{{[0-9]{{1,3}},[0-9]{{0,3}}\}}){_FIXED})?\$")
"""Anchored on both ends, with one repetition of variable length at most: how long it is, the text's length decides."""

_PROVED = frozenset(
    {
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    }
)
"""Patterns that occur by the thousand (quantities) and have been looked at: the next character always decides."""

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


@lru_cache(maxsize=8192)
def searcher(pattern: str) -> Search:
    """How to look for a pattern in a text: a function that returns something true if it is there.

    Raises:
        PatternError.
    """
    if pattern in _PROVED or _SIMPLE.fullmatch(pattern):
        try:
            simple: Search = re.compile(pattern[:-1] + r"\Z", re.ASCII).search
        except re.error:
            return _compiled(pattern)  # which says what is wrong
        return simple
    return _compiled(pattern)


_REPEATS = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_MAX_REPEATS = 4000
"""Of counted repetitions together: RE2 takes the square of it to compile, 20 ms at this. Go has no such bound, but
people do not come near it."""


def _compiled(pattern: str) -> Search:
    repeats = sum(int(most or least) for least, most in _REPEATS.findall(pattern))
    if repeats > _MAX_REPEATS:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern}`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    try:
        search = re2.compile(pattern, options).search
    except re2.error as error:
        raise PatternError(_go_message(pattern, error.args[0])) from None
    return lambda text: search(text.encode())  # given text, it would count characters for the groups, at half the time


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
