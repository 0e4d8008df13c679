"""Modules that are heavy and seldom needed: imported when they are, beside the loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

__all__ = ["importing", "is_imported"]


def is_imported(name: str) -> bool:
    """Whether a module is there, whole: one that a thread is importing is not, and to ask for it would wait."""
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def importing(*names: str) -> Callable[[], None] | None:
    """What imports those that are not there, for a thread; None if all are."""
    missing = [name for name in names if not is_imported(name)]
    if not missing:
        return None

    def load() -> None:
        for name in missing:
            import_module(name)

    return load
