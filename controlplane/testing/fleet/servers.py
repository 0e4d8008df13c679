"""Servers on one store in this process, each with a version of its own, that know of each other and pass on what they
do not serve themselves.

Where it lies: all servers share a process and a loop, so one that is busy slows the others, and ``crash`` lets requests
finish that are under way. Processes on etcd are the real thing (tests/fault/test_rolling_upgrade.py runs both).
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from controlplane.apiserver.options import PeerProxyOptions
from controlplane.generic.config import Config
from controlplane.generic.peers import add_peer_proxy
from controlplane.testing.fleet.balancer import Balancer
from controlplane.testing.planes import Plane, plane_config, plane_of
from controlplane.testing.shared_store import SharedStore, shared_store

__all__ = ["Configure", "Fleet", "fleet"]

Configure = Callable[[Config], None]
"""One version of a server: what it adds to a config (kinds, controllers, admission)."""

RECORDS = b"/registry/peerserverleases/"

HEARD_SECONDS = 20.0
"""How long servers may need to learn of each other before something is wrong."""


class Fleet:
    """``servers``: those that run, by name. A server started again under its name has the same address and id.

    Args:
        directory: of certificates, which all share, and kubeconfigs. ``peered``: give every server the peer proxy.
    """

    def __init__(self, store: SharedStore, directory: Path, *, peered: bool) -> None:
        self.store, self.directory, self.peered = store, directory, peered
        self.servers: dict[str, Plane] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._ports: dict[str, int] = {}
        self._balancers: list[Balancer] = []
        self._gone: set[str] = set()
        """Ids of servers whose records have run out."""

    async def start(self, name: str, configure: Configure) -> Plane:
        """Start a server of a version; returns once it is ready and all servers have heard of each other.

        Raises:
            StartError: it cannot start. TimeoutError: they have not heard of each other in 20 s.
        """
        if name in self.servers:
            raise ValueError(f"server {name!r} runs already; running: {', '.join(self.servers)}")
        directory = self.directory / name
        directory.mkdir(parents=True, exist_ok=True)
        config = plane_config(directory, cert_dir=self.directory / "certs")
        config.open_store, config.port = self.store.open, self._ports.get(name, 0)
        configure(config)
        if self.peered:
            add_peer_proxy(config, PeerProxyOptions(enabled=True, whole_discovery=True))
        stack = AsyncExitStack()
        plane = await stack.enter_async_context(plane_of(config))
        self._stacks[name], self.servers[name], self._ports[name] = stack, plane, plane.running.port
        for balancer in self._balancers:
            await balancer.add(name, plane.kubeconfig)
        record = plane.control_plane.presence.record
        assert record is not None
        async with asyncio.timeout(HEARD_SECONDS):
            await record.written()
            await self.heard()
        return plane

    async def stop(self, name: str) -> None:
        """End a server in order, as SIGTERM does: it takes back what it has said of itself and lets requests finish."""
        self._running(name)
        del self.servers[name]
        await self._stacks.pop(name).aclose()
        for balancer in self._balancers:
            balancer.remove(name)

    async def crash(self, name: str, *, record_runs_out: bool = False) -> None:
        """End a server that takes nothing back: its lease stays, and its record until it has run out (15 s).

        Args:
            record_runs_out: do not wait for that: the others forget it now.
        """
        plane = self._running(name)
        id_ = _id_of(plane)
        plane.control_plane.server.hooks.abandon()
        await self.stop(name)
        if record_runs_out:
            self._gone.add(id_)
            await self.store.remove(RECORDS + id_.encode())
            async with asyncio.timeout(HEARD_SECONDS):
                await self.heard()

    async def roll(
        self,
        configure: Configure,
        *,
        names: Sequence[str] = (),
        between: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Replace servers by those of another version, one after the other: an upgrade, or a rollback.

        Args:
            names: which, in this order; by default all. ``between``: called with the name of each server that has just
                been replaced, for looking at the mixed state.
        """
        names = names or list(self.servers)
        for name in names:  # all, before one is stopped
            self._running(name)
        for name in names:
            await self.stop(name)
            await self.start(name, configure)
            if between is not None:
                await between(name)

    async def balancer(self) -> Balancer:
        """A client of whichever servers run, as behind a load balancer."""
        balancer = Balancer()
        for name, plane in self.servers.items():
            await balancer.add(name, plane.kubeconfig)
        self._balancers.append(balancer)
        return balancer

    def _running(self, name: str) -> Plane:
        """Raises ValueError."""
        if name not in self.servers:
            raise ValueError(f"no server {name!r} runs; running: {', '.join(self.servers) or 'none'}")
        return self.servers[name]

    async def heard(self) -> None:
        """Wait until every server sees the records of all others and, with the peer proxy, what they serve; and nothing
        of those whose record has run out. Servers that are about to start are not waited for."""
        planes = list(self.servers.values())
        running = {_id_of(plane) for plane in planes}
        for plane in planes:
            await _sees(plane, running - {_id_of(plane)}, gone=self._gone - running, serves=self.peered)

    async def close(self) -> None:
        """End all servers and balancers."""
        for balancer in self._balancers:
            await balancer.close()
        for name in list(self.servers):
            await self.stop(name)


def _id_of(plane: Plane) -> str:
    return plane.control_plane.presence.server.id


async def _sees(plane: Plane, others: set[str], *, gone: set[str], serves: bool) -> None:
    records, tables = plane.control_plane.presence.records, plane.control_plane.tables
    changed = asyncio.Event()
    unfollow = records.follow(lambda _old, _new: changed.set())
    unsubscribe = tables.subscribe(lambda _table: changed.set())
    try:
        while True:
            elsewhere = tables.current.elsewhere
            served = elsewhere.servers.keys() if elsewhere is not None else set()
            seen = (records.peers.keys(), served) if serves else (records.peers.keys(),)
            if all(others <= ids and gone.isdisjoint(ids) for ids in seen):
                return
            changed.clear()
            await changed.wait()
    finally:
        unfollow()
        unsubscribe()


@asynccontextmanager
async def fleet(
    versions: Mapping[str, Configure], *, directory: Path | None = None, peered: bool = True
) -> AsyncIterator[Fleet]:
    """A server for each name, of its version, on one store in memory; all ready at the block's begin.

    Args:
        directory: where certificates and kubeconfigs go; a temporary one by default.
        peered: servers pass on to each other what they do not serve.
    """
    async with AsyncExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="controlplane-")))
        store = await stack.enter_async_context(shared_store())
        made = Fleet(store, directory, peered=peered)
        stack.push_async_callback(made.close)
        for name, configure in versions.items():
            await made.start(name, configure)
        yield made
