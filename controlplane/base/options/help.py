"""``--help``: the flags by group, as kube-apiserver lays out its named flag sets."""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.base.options.model import OptionGroup
from controlplane.base.options.specs import Kind, Option, options_of

__all__ = ["help_text"]

WIDTH = 110
_INDENT = "        "


def help_text(model: type[OptionGroup], *, usage: str = "", footer: str = "") -> str:
    """The whole help of a program: ``usage`` first, the flags of each group, those every program has, ``footer``."""
    groups: dict[str, list[Option]] = {}
    for option in options_of(model):
        groups.setdefault(option.group_title, []).append(option)
    parts = [usage.rstrip() + "\n"] if usage else []
    for title, options in groups.items():
        parts.append(f"\n{title} flags:\n\n{_group(options)}")
    parts.append(
        "\nGlobal flags:\n\n"
        "    --config string\n        YAML file with options; flags and environment variables take precedence\n"
        "    --help, -h\n        print this and exit\n"
        "    --version\n        print the version and exit\n"
    )
    if footer:
        parts.append("\n" + footer.rstrip() + "\n")
    return "".join(parts)


def _group(options: Sequence[Option]) -> str:
    import textwrap  # only where help is asked for

    lines: list[str] = []
    for option in options:
        short = f", -{option.short}" if option.short else ""
        word = "" if option.kind is Kind.BOOL else f" {option.kind.value}"
        default = f" (default {option.default_text})" if option.default_text not in ("", "false") else ""
        allowed = f" ({option.allowed})" if option.kind is Kind.CHOICE else ""
        lines.append(f"    --{option.flag}{short}{word}")
        text = f"{option.description}{allowed}{default}"
        lines += textwrap.wrap(text, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n".join(lines) + "\n"
