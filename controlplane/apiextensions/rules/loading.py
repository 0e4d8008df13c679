"""The expression language, loaded a few modules at a time.

It is loaded when the first rule comes, by a request on the loop: in one go that takes a fifth of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module

__all__ = ["is_loaded", "language_steps"]

_LAST = ("controlplane.apiextensions.rules.evaluation", "controlplane.apiextensions.rules.definition")
_STEPS = (
    *(
        f"controlplane.{name}"
        for name in (
            "cel.equality",
            "apimachinery.schema.rules.comparison",
            "cel.timestamps",
            "cel.estimates",
            "cel.functions",
            "cel.macros",
            "cel.syntax.lexer",
            "cel.syntax.parser",
            "cel.environment",
            "apimachinery.schema.rules.declarations",
            "cel.standard.costs",
            "cel.standard.conversions",
            "cel.library.strings_format",
            "cel.check.validators",
            "cel.estimate",
            "cel.library.authz",
            "cel.library.lists",
            "cel.library.net",
            "cel.library.amount",
            "cel.library.regex",
            "cel.library.semver",
            "cel.library.strings",
            "cel.standard.macros",
            "cel.standard.optionals",
            "cel.library.kubernetes",
            "cel.check.checker",
            "cel.codegen.templates",
            "cel.evaluate.constants",
            "cel.codegen.calls",
            "cel.evaluate.plan",
            "cel.codegen.loops",
            "cel.codegen.generator",
            "cel.standard.operators",
            "cel.standard.library",
            "apiextensions.rules.compiled",
        )
    ),
    *_LAST,
)
"""In an order in which each needs only few that are not there yet. A module that is missing here is loaded by the next
one that needs it: the list decides how long a step takes, nothing else."""


def is_loaded() -> bool:
    """Whether all that rules need is there."""
    return all(name in sys.modules for name in _LAST)


def language_steps() -> Iterator[None]:
    """Load what rules need; there may be a break at each None. Nothing, if it is there."""
    if is_loaded():
        return
    for name in _STEPS:
        import_module(name)
        yield None
