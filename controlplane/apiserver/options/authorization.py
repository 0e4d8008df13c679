"""Who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["MODES", "RBAC", "AuthorizationOptions"]

RBAC = "RBAC"
MODES = ("AlwaysAllow", "AlwaysDeny", RBAC)
"""What exists; ``system:masters`` comes before all of them."""

_ELSEWHERE = ("ABAC", "Node")


class AuthorizationOptions(OptionGroup):
    """The authorizers, asked in order."""

    title: ClassVar[str] = "Authorization"

    authorization_mode: tuple[str, ...] = option(
        (),
        flag="authorization-mode",
        description="authorizers in order: AlwaysAllow, AlwaysDeny, RBAC; empty is RBAC or, where no roles are served, "
        "lets system:masters do all, controllers their work, anybody see health and version, and nobody else anything",
    )

    def problems(self) -> Iterator[Problem]:
        known = ", ".join(MODES)
        for mode in self.authorization_mode:
            if mode in _ELSEWHERE:
                yield Problem("authorization_mode", f"{mode} is not supported by this server; supported: {known}")
            elif mode not in MODES:
                yield Problem(
                    "authorization_mode", f'authorization-mode "{mode}" is not a valid mode; supported: {known}'
                )
        if len(set(self.authorization_mode)) != len(self.authorization_mode):
            modes = " ".join(f'"{mode}"' for mode in self.authorization_mode)
            yield Problem("authorization_mode", f"authorization-mode [{modes}] has mode specified more than once")
