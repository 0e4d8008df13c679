"""Who owns fields, and why an object does not fit its type or an apply its owners."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from controlplane.apimachinery.patch.structured.elements import escape_html, path_text
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.base.values import dataclass

__all__ = ["Conflict", "ConflictError", "FormError", "Manager", "TypeMismatch"]


class TypeMismatch(ValueError):
    """An object that does not fit its type; ``problems`` are ``path: what`` texts, in order."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {p}" for p in problems)]))
        self.problems = problems


class FormError(ValueError):
    """An object cannot be had in another version, in which somebody owns fields; the text is upstream's."""


class Manager(NamedTuple):
    """One owner: a name is another owner through another operation or subresource, and (updates only, else ``""``)
    through another version."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """As JSON; among those that are else equal (in time, say) its order decides."""
        named = {"manager": self.name, "operation": self.operation}
        named |= {"apiVersion": self.api_version} if self.api_version else {}
        named |= {"subresource": self.subresource} if self.subresource else {}
        return escape_html(orjson.dumps(named).decode())

    def __str__(self) -> str:
        """As conflicts name it."""
        text = go_quoted(self.name)
        if self.subresource:
            text += f" with subresource {go_quoted(self.subresource)}"
        return text if self.operation == "Apply" else f"{text} using {self.api_version}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """One field that an apply would change and another manager owns."""

    manager: Manager
    path: tuple[str, ...]

    @property
    def field(self) -> str:
        return path_text(self.path)


class ConflictError(Exception):
    """An apply without force would take fields from others. Nothing has been changed."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(_conflicts_text(conflicts))
        self.conflicts = conflicts


def _conflicts_text(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].manager}: {conflicts[0].field}"
    lines = []
    for manager in sorted({c.manager for c in conflicts}, key=lambda m: m.identifier):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {c.field}" for c in conflicts if c.manager == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
