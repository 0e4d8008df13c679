"""Names made from ``generateName``.

Source: kubernetes/apiserver ``pkg/storage/names`` and kubernetes/apimachinery ``util/rand``.
"""

from __future__ import annotations

import random

__all__ = ["ATTEMPTS", "generate"]

ATTEMPTS = 8
"""Creates tried with a new name each before a taken name is the client's problem. With eight, a million names of one
prefix can be made at a chance of 0.1 % that any create fails."""

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like letters, so that no words come out."""
_RANDOM_CHARACTERS = 5
_BASE_CHARACTERS = 63 - _RANDOM_CHARACTERS
"""A generated name fits in a label value."""


def generate(base: str, source: random.Random) -> str:
    """``base``, cut to 58 characters, and five random ones."""
    return base[:_BASE_CHARACTERS] + "".join(source.choices(_ALPHABET, k=_RANDOM_CHARACTERS))
