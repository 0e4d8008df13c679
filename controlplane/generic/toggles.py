"""Booleans with one reader: what each needs, and what follows where one is off.

True by default with a requirement missing: derived off, and ``explain`` says so. Explicitly true with a requirement
missing: refused, naming both. Off never contradicts off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controlplane.base.options import Problem

__all__ = ["Resolved", "Toggle", "resolve", "toggle_problems"]


class Toggle(NamedTuple):
    """One boolean: its option's path (``resources.leases``), the paths of those it cannot be without, and what it is if
    nothing is said."""

    path: str
    needs: tuple[str, ...] = ()
    default: bool = True


class Resolved(NamedTuple):
    """What is on, and what is off only because something else is: path to the path that it misses. ``off_by_default``:
    what is off though nobody said so of it or of what it needs."""

    on: frozenset[str]
    derived_off: Mapping[str, str]
    off_by_default: frozenset[str]

    def explain(self) -> list[str]:
        """One line for each that was derived from what somebody said."""
        return [
            f"{path} is off, since it needs {missing}, which is off"
            for path, missing in self.derived_off.items()
            if path not in self.off_by_default
        ]


def resolve(toggles: Sequence[Toggle], given: Callable[[str], bool | None]) -> Resolved:
    """Settle all toggles; ``given``: what was said of a path, None where nothing was. Requirements come first in
    ``toggles``."""
    on: set[str] = set()
    derived: dict[str, str] = {}
    by_default: set[str] = set()
    for toggle in toggles:
        said = given(toggle.path)
        if said is None and not toggle.default:
            by_default.add(toggle.path)
            continue
        if said is False:
            continue
        missing = next((need for need in toggle.needs if need not in on), None)
        if missing is None:
            on.add(toggle.path)
        else:
            derived[toggle.path] = missing
            if missing in by_default:
                by_default.add(toggle.path)
    return Resolved(frozenset(on), derived, frozenset(by_default))


def toggle_problems(toggles: Sequence[Toggle], given: Callable[[str], bool | None]) -> Iterator[Problem]:
    """Those that were asked for and cannot be had."""
    resolved = resolve(toggles, given)
    for path, missing in resolved.derived_off.items():
        if given(path):
            yield Problem(path, f"needs --{missing.replace('_', '-')}, which is off")
