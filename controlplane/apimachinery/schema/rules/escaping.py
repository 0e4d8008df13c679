"""Property names as expressions write them: ``a-b`` is ``a__dash__b``, ``namespace`` is ``__namespace__``.

Source: kubernetes/apiserver ``pkg/cel/escaping.go``.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "escaped_if_reserved"]

_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9]|_(?!_))*")
_ESCAPABLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


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
