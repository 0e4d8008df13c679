"""Protocol buffers' text format, read without a schema: each message is a dict of lists of values.

Scalars stay as they are written, but for strings, which become bytes (adjacent ones joined, escapes resolved). Names of
extensions and of packed ``Any`` messages keep their brackets.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Message", "parse"]

Message = dict[str, list[Any]]

_TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*)*(?:
        (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<name>\[[^\]\s"']*\])
      | (?P<word>[-+]?[A-Za-z0-9_.][-+A-Za-z0-9_.]*)
      | (?P<mark>[{}<>:,;\[\]])
      | (?P<end>\Z))""",
    re.VERBOSE,
)
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SIMPLE = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_CLOSING = {"{": "}", "<": ">"}


def parse(text: str) -> Message:
    """The message that a whole file is.

    Raises:
        ValueError: it is not of this format.
    """
    return _Parser(text).message("")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            raise ValueError(f"unexpected text: {self.text[self.position : self.position + 40]!r}")
        self.kind, self.token, self.position = found.lastgroup, found[found.lastgroup], found.end()

    def message(self, closing: str) -> Message:
        fields: Message = {}
        while self.token != closing or self.kind == "string":
            if self.kind not in ("name", "word"):
                raise ValueError(f"expected a field's name, found {self.token!r}")
            name = self.token
            self.advance()
            if self.token == ":":
                self.advance()
            fields.setdefault(name, []).extend(self.values())
            while self.token in (",", ";") and self.kind == "mark":
                self.advance()
        if closing:
            self.advance()
        return fields

    def values(self) -> list[Any]:
        if self.kind == "name":  # [] or [1]: the token that names take
            items = self.token[1:-1]
            self.advance()
            return [item.strip() for item in items.split(",") if item.strip()]
        if self.token != "[" or self.kind != "mark":
            return [self.value()]
        self.advance()
        values: list[Any] = []
        while self.token != "]":
            values.append(self.value())
            if self.token == ",":
                self.advance()
        self.advance()
        return values

    def value(self) -> Any:
        if self.kind == "string":
            parts: list[bytes] = []
            while self.kind == "string":
                parts.append(_unescaped(self.token[1:-1]))
                self.advance()
            return b"".join(parts)
        token = self.token
        if self.kind != "word":
            if token not in _CLOSING:
                raise ValueError(f"expected a value, found {token!r}")
            self.advance()
            return self.message(_CLOSING[token])
        self.advance()
        return token


def _unescaped(text: str) -> bytes:
    def replaced(found: re.Match[bytes]) -> bytes:
        escape = found[1]
        if escape[:1] == b"x":
            return bytes([int(escape[1:], 16)])
        if escape[:1].isdigit():
            return bytes([int(escape, 8) & 0xFF])
        if escape[:1] in b"uU":
            return chr(int(escape[1:], 16)).encode()
        return _SIMPLE.get(escape, escape)

    return _ESCAPE.sub(replaced, text.encode())
