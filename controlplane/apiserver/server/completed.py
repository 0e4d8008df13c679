"""The step from an editable config to a complete one: the same fields, copied, that nobody can set any more.

A completed class is written as ``class CompletedX(Frozen, X)`` and made by ``X.complete()`` alone, so a function that
takes a ``CompletedX`` gets one that was checked.
"""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, fields
from typing import Any, Self

__all__ = ["Frozen"]


class Frozen:
    """Fields are set once, by ``freeze``."""

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"a {type(self).__name__} is made by complete() of its config")

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be set: the config is complete")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be deleted: the config is complete")

    @classmethod
    def freeze(cls, config: Any) -> Self:
        """A frozen copy of a dataclass instance; its lists and dictionaries are copied too."""
        made = object.__new__(cls)
        for one in fields(config):
            value = getattr(config, one.name)
            object.__setattr__(made, one.name, copy.copy(value) if isinstance(value, (list, dict)) else value)
        return made
