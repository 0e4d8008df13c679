"""Keys of a user's extra values, as header names have them: percent-encoded, in any case.

Source: kubernetes/apiserver ``pkg/authentication/request/headerrequest``.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import unquote

__all__ = ["extra_key"]

_HEX = frozenset("0123456789abcdef")


@lru_cache(maxsize=256)
def extra_key(name: str) -> str:
    """The key that the rest of a header's name stands for: percent-decoded, or, if it is not so encoded, as it is."""
    name = name.lower()
    for part in name.split("%")[1:]:
        if len(part) < 2 or not _HEX.issuperset(part[:2]):
            return name
    return unquote(name)
