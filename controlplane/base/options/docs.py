"""Rows of the options reference: generated into ``docs/`` and compared by a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from controlplane.base.options.model import OptionGroup
from controlplane.base.options.specs import options_of

__all__ = ["Row", "markdown", "rows"]


class Row(NamedTuple):
    """One option. All texts; ``flag`` with its dashes; ``allowed`` is the type and its bounds in words."""

    group: str
    flag: str
    env: str
    file_key: str
    type: str
    default: str
    allowed: str
    description: str


def rows(model: type[OptionGroup]) -> Iterator[Row]:
    """The rows of a top model, in order of declaration."""
    for option in options_of(model):
        yield Row(
            group=option.group_title,
            flag=f"--{option.flag}",
            env=option.env,
            file_key=option.file_key,
            type=option.kind.value,
            default=option.default_text,
            allowed=option.allowed,
            description=option.description,
        )


def markdown(model: type[OptionGroup]) -> str:
    """A section a group, a table row an option."""
    parts: list[str] = []
    group = ""
    for row in rows(model):
        if row.group != group:
            group = row.group
            parts.append(f"\n## {group}\n\n| flag | environment, file key | type | default | description |\n")
            parts.append("|---|---|---|---|---|\n")
        default = f"`{row.default}`" if row.default else ""
        cells = (f"`{row.flag}`", f"`{row.env}`<br>`{row.file_key}`", row.allowed, default, row.description)
        parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts).lstrip("\n")
