"""Sources of resources: whoever changes what is served while the server runs.

A source feeds the table from the mirror, in the step that applies an event. The server asks all sources to catch up
before it says that a resource is unknown, and lets a source settle what follows from a write before it answers it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.registry.peers import Peers
from controlplane.apiserver.registry.settings import RegistrySettings
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base.values import dataclass
from controlplane.client.request import Request
from controlplane.client.webhook import WebhookTransport
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.view import Conversion

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "HookedSource",
    "Source",
    "SourceDescriptor",
    "SourceHook",
    "SourceHost",
    "SourceKind",
    "SourceServices",
]


class SourceKind(NamedTuple):
    """A kind that a source is described in, and how it is stored (None: as the resource says)."""

    resource: Resource
    conversion: Conversion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceServices:
    """What a source is given. ``tables`` serves the source's own kinds already; ``mirror`` is loaded. ``webhooks``: the
    server's way to call out. ``peers``: the servers on the same store."""

    mirror: Mirror
    tables: TableHolder
    registry: RegistrySettings
    webhooks: WebhookTransport
    on_failure: Callable[[BaseException], None]
    peers: Peers


class Source(Protocol):
    """A source at work."""

    @property
    def settles(self) -> frozenset[GroupResource]:
        """The resources whose writes it wants to settle."""

    async def catch_up(self, request: Request) -> bool:
        """Wait until the table shows all that was stored when this was called, as far as the answer to ``request``
        depends on this source. False if it cannot be proved."""

    async def settled(self) -> None:
        """Wait until all that follows from what is stored now has been decided, and the table shows it."""

    async def close(self) -> None:
        """Stop."""


class SourceHost(Protocol):
    """The running server, as a hook of a source sees it."""

    def start(self, coro: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run a task until the server stops; its failure ends the server."""


SourceHook = Callable[[SourceHost], Awaitable[None]]


@runtime_checkable
class HookedSource(Source, Protocol):
    """A source that has something to do when the server listens."""

    def hooks(self) -> Sequence[tuple[str, SourceHook]]:
        """Post-start hooks by name: readiness waits for them."""


class SourceDescriptor(NamedTuple):
    """One source, as a server lists it. ``kinds`` are served from the start; ``start`` attaches it to a running
    server's parts, on the loop, before anything is served."""

    name: str
    kinds: Sequence[SourceKind]
    start: Callable[[SourceServices], Source]
