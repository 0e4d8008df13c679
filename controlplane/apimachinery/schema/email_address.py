"""Whether a text is one e-mail address, with or without a name, as Go reads them.

Quoted local parts, comments, groups of one member and addresses in brackets are addresses too; two dots in a row, or
a dot at either end of a part, are not.

Source: the behaviour of Go's ``net/mail`` ``ParseAddress`` (RFC 5322), which kube-openapi's format ``email`` asks.
"""

from __future__ import annotations

import ipaddress

__all__ = ["is_email_address"]

_SPECIALS = frozenset('()<>[]:;@\\,"')
_BLANKS = " \t"


class _NoAddress(Exception):
    """The text is no address."""


def is_email_address(text: str) -> bool:
    reader = _Reader(text)
    try:
        count = reader.address(group=True)
        reader.comments()
    except _NoAddress:
        return False
    return count == 1 and not reader.rest


def _is_visible(char: str) -> bool:
    return "!" <= char <= "~" or char > "\x7f"


class _Reader:
    """What is left of the text; each method takes its part from the front."""

    __slots__ = ("rest",)

    def __init__(self, text: str) -> None:
        self.rest = text

    def address(self, *, group: bool) -> int:
        """One address or, if allowed, a group; how many addresses that is."""
        self._blanks()
        before = self.rest
        try:
            self._plain()
        except _NoAddress:
            self.rest = before
        else:
            self._blanks()
            if self._takes("("):
                self._comment()
            return 1
        if not self.rest.startswith("<"):
            self._phrase()
        self._blanks()
        if group and self._takes(":"):
            return self._members()
        self._must("<")
        self._plain()
        self._must(">")
        return 1

    def comments(self) -> None:
        self._blanks()
        while self._takes("("):
            self._comment()
            self._blanks()

    def _members(self) -> int:
        self._blanks()
        count = 0
        while not self._takes(";"):
            if count:
                self._must(",")
            count += self.address(group=False)
            self.comments()
        self.comments()
        return count

    def _plain(self) -> None:
        """``local@domain``"""
        self._blanks()
        if self.rest.startswith('"'):
            if not self._quoted():
                raise _NoAddress
        else:
            self._atom()
        self._must("@")
        self._blanks()
        if self._takes("["):
            self._literal()
        else:
            self._atom()

    def _phrase(self) -> None:
        """Words before an address: the first must be one, what is none ends them."""
        words = 0
        while True:
            if words:
                self.comments()
            self._blanks()
            before = self.rest
            try:
                if self.rest.startswith('"'):
                    self._quoted()
                else:
                    self._atom(strict=False)
            except _NoAddress:
                if not words:
                    raise
                self.rest = before
                return
            words += 1

    def _atom(self, *, strict: bool = True) -> None:
        end = next((i for i, c in enumerate(self.rest) if c in _SPECIALS or not _is_visible(c)), len(self.rest))
        atom, self.rest = self.rest[:end], self.rest[end:]
        if not atom or (strict and (atom[0] == "." or atom[-1] == "." or ".." in atom)):
            raise _NoAddress

    def _quoted(self) -> str:
        escaped = False
        for i, char in enumerate(self.rest[1:], 1):
            if not escaped and char == '"':
                inner, self.rest = self.rest[1:i], self.rest[i + 1 :]
                return inner
            if not _is_visible(char) and char not in _BLANKS:
                break
            escaped = not escaped and char == "\\"
        raise _NoAddress

    def _literal(self) -> None:
        inner, closed, self.rest = self.rest.partition("]")
        try:
            ipaddress.ip_address(inner)
        except ValueError:
            raise _NoAddress from None
        if not closed or "%" in inner:
            raise _NoAddress

    def _comment(self) -> None:
        """After its opening parenthesis; comments nest."""
        depth, i = 1, 0
        while i < len(self.rest) and depth:
            char = self.rest[i]
            if char == "\\" and i + 1 < len(self.rest):
                i += 1
            elif char in "()":
                depth += 1 if char == "(" else -1
            i += 1
        self.rest = self.rest[i:]
        if depth:
            raise _NoAddress

    def _blanks(self) -> None:
        self.rest = self.rest.lstrip(_BLANKS)

    def _takes(self, char: str) -> bool:
        if not self.rest.startswith(char):
            return False
        self.rest = self.rest[1:]
        return True

    def _must(self, char: str) -> None:
        if not self._takes(char):
            raise _NoAddress
