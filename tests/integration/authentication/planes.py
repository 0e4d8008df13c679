"""Control planes for tests of who is who: an administrator with a token, and what every authenticated user may do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.generic.config import Config
from tests.integration.plane import Plane, config_in, running_plane

__all__ = ["Basics", "bearer", "identity_plane"]


class Basics:
    """What everybody who is known may do: ask who he is. ``rules`` allow more: by user name and verb."""

    def __init__(self, rules: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.rules = rules

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        known = "system:authenticated" in attributes.user.groups
        if known and attributes.resource == "selfsubjectreviews" and attributes.verb == "create":
            return Decision.ALLOW, ""
        if (attributes.user.name, attributes.verb) in self.rules:
            return Decision.ALLOW, ""
        return Decision.NO_OPINION, ""


@asynccontextmanager
async def identity_plane(
    directory: Path, *, basics: Basics | None = None, configure: Callable[[Config], None] = lambda _: None
) -> AsyncIterator[Plane]:
    config = config_in(directory)
    config.authorizers.append(basics or Basics())
    configure(config)
    async with running_plane(directory, config) as plane:
        yield plane


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
