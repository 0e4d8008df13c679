"""Property names as expressions write them: ``a-b`` is ``a__dash__b``, ``namespace`` is ``__namespace__``.

Source: kubernetes/apiserver ``pkg/cel/escaping.go``.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "escaped_if_reserved", "unescaped"]

_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9]|_(?!_))*")
_ESCAPABLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_MEANT = {word: character for character, word in _WORDS.items()}
_WORD = re.compile(r"__[^_]+__")


def escaped_if_reserved(name: str) -> str:
    """The identifier of a property whose name is a word of the language and may be written as it is: ``self.if``."""
    return f"__{name}__" if name in _RESERVED else name


def escaped(name: str) -> str | None:
    """The identifier for a property; None if it has none, and no expression can name it."""
    if name in _RESERVED:
        return f"__{name}__"
    if _PLAIN.fullmatch(name) and "__" not in name:
        return name
    if not _ESCAPABLE.fullmatch(name):
        return None
    return re.sub(r"__|[-./]", lambda found: _WORDS[found.group()], name)


def unescaped(identifier: str) -> str | None:
    """The name that an identifier stands for; None if it has a word between underscores that means nothing."""
    if identifier[2:-2] in _RESERVED and identifier == f"__{identifier[2:-2]}__":
        return identifier[2:-2]
    if any(word not in _MEANT for word in _WORD.findall(identifier)):
        return None
    return _WORD.sub(lambda found: _MEANT[found.group()], identifier)
