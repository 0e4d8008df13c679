"""Two servers of different versions on one store, in the test's process. Each sends what it does not serve to the
other."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from controlplane.apiserver.options import PeerProxyOptions
from controlplane.base.tls.issue import issue_ca, issue_client, new_key
from controlplane.client.loopback import LoopbackClient
from controlplane.generic.config import Config
from controlplane.generic.peers import add_peer_proxy
from controlplane.testing.planes import ADMIN, Plane, plane_config, plane_of
from controlplane.testing.shared_store import SharedStore, shared_store
from tests.integration.peerproxy.kinds import serve_a, serve_b
from tests.processes import target_of

__all__ = [
    "AGGREGATED",
    "Files",
    "Fleet",
    "admin_tls",
    "eventually",
    "fleet",
    "heard",
    "impatient",
    "json_of",
    "make_files",
]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
T = TypeVar("T")


@dataclass(frozen=True)
class Files:
    """What servers prove themselves by: one folder of self-made keys, and a front proxy's authority and client."""

    directory: Path
    proxy_ca: Path
    proxy_ca_key: Path
    proxy_cert: Path
    proxy_key: Path

    @property
    def certs(self) -> Path:
        return self.directory / "certs"


def make_files(
    directory: Path, *, name: str = "front-proxy", age_seconds: float = 0.0, ca: Files | None = None
) -> Files:
    """Make a front proxy's files. ``age_seconds``: how long ago its client certificate was made. ``ca``: whose
    authority signs it, by default a new one's."""
    files = Files(directory, *(directory / f"{name}{end}" for end in ("-ca.crt", "-ca.key", ".crt", ".key")))
    now = time.time()
    if ca is None:
        files.proxy_ca_key.write_bytes(new_key())
        files.proxy_ca.write_bytes(issue_ca(files.proxy_ca_key.read_bytes(), f"{name}-ca", now))
        ca = files
    files.proxy_key.write_bytes(new_key())
    authority = (ca.proxy_ca.read_bytes(), ca.proxy_ca_key.read_bytes())
    identity = (f"{name}-client", ())
    files.proxy_cert.write_bytes(issue_client(files.proxy_key.read_bytes(), authority, identity, now - age_seconds))
    return files


class Fleet:
    """Servers on one store. ``start`` as often as wanted, ``kill`` without a goodbye, ``stop`` with one."""

    def __init__(self, store: SharedStore, files: Files, stack: AsyncExitStack) -> None:
        self.store, self.files, self._stack = store, files, stack
        self._running: dict[str, AsyncExitStack] = {}
        self.ports: dict[str, int] = {}

    async def start(
        self, name: str, *configure: Callable[[Config], None], change: Callable[[Fleet, Config], None] | None = None
    ) -> Plane:
        """A server that is ready; started again under one name it has the same port, and so the same id."""
        directory = self.files.directory / name
        directory.mkdir(exist_ok=True)
        config = plane_config(directory, cert_dir=self.files.certs)
        config.open_store, config.port = self.store.open, self.ports.get(name, 0)
        config.front_proxy_ca_file = str(self.files.proxy_ca)
        config.aggregation = replace(
            config.aggregation, proxy_cert_file=str(self.files.proxy_cert), proxy_key_file=str(self.files.proxy_key)
        )
        for one in configure:
            one(config)
        if change is not None:
            change(self, config)
        else:
            self.peered(config)
        stack = AsyncExitStack()
        plane = await stack.enter_async_context(plane_of(config))
        self._stack.push_async_callback(self.stop, name)
        self._running[name] = stack
        self.ports[name] = plane.running.port
        record = plane.control_plane.presence.record
        assert record is not None
        await record.written()
        return plane

    def peered(self, config: Config, **options: Any) -> None:
        """Add the peer proxy, with the fleet's files."""
        given = {"ca_file": str(self.files.certs / "serving-ca.crt"), "whole_discovery": True, **options}
        add_peer_proxy(config, PeerProxyOptions(**given))

    async def stop(self, name: str) -> None:
        """Idempotent."""
        stack = self._running.pop(name, None)
        if stack is not None:
            await stack.aclose()


@asynccontextmanager
async def fleet(directory: Path, *names: str) -> AsyncIterator[tuple[Fleet, dict[str, Plane]]]:
    """Servers "a" and "b" (by default) that have heard each other."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(shared_store())
        made = Fleet(store, make_files(directory), stack)
        planes: dict[str, Plane] = {}
        for name in names or ("a", "b"):
            planes[name] = await made.start(name, serve_a if name == "a" else serve_b)
        for plane in planes.values():
            await heard(plane, len(planes) - 1)
        yield made, planes


async def heard(plane: Plane, others: int) -> None:
    """Wait until a server shows what so many peers serve."""
    holder = plane.control_plane.tables
    arrived = asyncio.Event()
    stop = holder.subscribe(lambda _table: arrived.set())
    try:
        async with asyncio.timeout(10):
            while (elsewhere := holder.current.elsewhere) is None or len(elsewhere.servers) != others:
                arrived.clear()
                await arrived.wait()
    finally:
        stop()


def impatient(plane: Plane) -> LoopbackClient:
    """A client that takes a 503 for an answer, instead of trying again."""
    return LoopbackClient(plane.control_plane.server.handler, ADMIN, retries=0)


def admin_tls(plane: Plane) -> ssl.SSLContext:
    """Of an administrator who connects to a server."""
    target = target_of(plane.kubeconfig)
    context = ssl.create_default_context(cafile=target.ca)
    context.load_cert_chain(target.cert, target.key)
    return context


async def json_of(client: LoopbackClient, path: str, accept: str = "application/json") -> Any:
    response = await client.request("GET", path, headers={"Accept": accept})
    assert response.status == 200, (path, response.status, response.content()[:300])
    return json.loads(response.content())


async def eventually(wanted: Callable[[], Awaitable[T | None]], *, seconds: float = 10.0) -> T:
    """Ask until the answer is true."""
    async with asyncio.timeout(seconds):
        while not (found := await wanted()):  # noqa: ASYNC110 - another server's state, as a client sees it
            await asyncio.sleep(0.02)
    return found
