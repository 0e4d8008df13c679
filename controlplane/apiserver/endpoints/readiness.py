"""What the first writes of a kind need, made ready before they are looked at: beside the loop, since to compile a large
schema, or to load what checks a definition, takes up to a fifth of a second."""

from __future__ import annotations

from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.registry.field_managers import field_manager
from controlplane.apiserver.registry.table import Served
from controlplane.base.aside import aside

__all__ = ["make_ready"]


async def make_ready(services: Services, served: Served, raw: bytes) -> None:
    """Make ready what ``raw``, a body, needs; mostly nothing, since somebody else has needed it before.

    Raises what ``Strategy.load`` raises.
    """
    load = served.resource.strategy.load
    missing = load(raw) if load is not None else None
    if missing is None:
        return

    def work() -> None:
        missing()
        _ = served.decoder  # compiled when it is first asked for
        if not served.resource.native:  # the schemas of native kinds are small, and there from the start
            field_manager(served, None, services.registry.now).load()

    await aside(work)
