"""Tokens of an expression, in one pass over the source.

Source: google/cel-go ``parser/gen/CEL.g4`` (the lexer rules), ANTLR's wording of characters that begin no token.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["END", "Token", "scan"]

END = "<EOF>"

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""|'
    rf"'''(?:{_ESCAPE}|[^\\])*?'''|"
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*"|'
    rf"'(?:{_ESCAPE}|[^\\'\n\r])*'|"
    r'[rR]"""(?s:.*?)"""|'
    r"[rR]'''(?s:.*?)'''|"
    r'[rR]"[^"\n\r]*"|'
    r"[rR]'[^'\n\r]*'"
)
_TOKEN = re.compile(
    rf"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_PREFIX = re.compile(
    rf"[rRbB]{{0,2}}(?:\"\"\"(?:{_ESCAPE}|[^\\])*|'''(?:{_ESCAPE}|[^\\])*"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*)|`[A-Za-z0-9_.\-/ ]*|[=|&]"
)
_BROKEN_ESCAPE = re.compile(r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")


class Token(NamedTuple):
    """``kind`` is the rule's name, or the text itself for operators, brackets and keywords."""

    kind: str
    text: str
    position: int


def scan(source: str, most: int) -> tuple[list[Token], list[tuple[int, str]]]:
    """The tokens, the last of them END, and (position, text) of what is none. It stops when there are ``most``
    of both."""
    tokens: list[Token] = []
    unknown: list[tuple[int, str]] = []
    position, length = 0, len(source)
    match = _TOKEN.match
    while position < length and len(tokens) + len(unknown) < most:
        found = match(source, position)
        if found is None:
            end = _unknown_end(source, position)
            unknown.append((position, source[position:end]))
            position = end
            continue
        kind = found.lastgroup or ""
        if kind != "space":
            text = found.group()
            if kind == "op" or text in _KEYWORDS:
                kind = text
            tokens.append(Token(kind, text, position))
        position = found.end()
    tokens.append(Token(END, END, length))
    return tokens, unknown


def _unknown_end(source: str, position: int) -> int:
    """Where scanning goes on: after the character at which no token could be any more."""
    prefix = _PREFIX.match(source, position)
    end = prefix.end() if prefix else position
    escape = _BROKEN_ESCAPE.match(source, end) if prefix and prefix.group()[0] not in "=|&`" else None
    if escape:
        end = escape.end()
    return min(end + 1, len(source))
