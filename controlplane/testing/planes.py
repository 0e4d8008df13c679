"""Control planes for tests: a real API server on a real port, in the test's own process, ready in no time.

    async with running_plane() as plane:          # in asyncio tests
        await plane.client().request("GET", "/api")

    with plane_in_thread() as plane:              # anywhere else: it has a loop and a thread of its own
        subprocess.run(["kubectl", "--kubeconfig", plane.kubeconfig, "get", "ns"])

Each plane has a store in memory (or the one that is asked for), a port and a kubeconfig of its own; many may run at
once.
``reset`` empties a plane between tests, which is faster than a new one: clients stay connected, and watches see the
deletions. Nothing is left behind but what ``directory`` is given for.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.base.runner import runner
from controlplane.client.loopback import LoopbackClient
from controlplane.client.resources import ResourceClient
from controlplane.controllers import flow_control, root_ca, service_accounts
from controlplane.controllers.core import NAMESPACES
from controlplane.controllers.system_namespaces.controller import SYSTEM_NAMESPACES
from controlplane.generic.config import Config, config_of
from controlplane.generic.options import GenericOptions
from controlplane.generic.server import ControlPlane, RunningControlPlane, open_plane
from controlplane.storage.kv.api import KV, prefix_end

__all__ = ["ADMIN", "Plane", "ThreadedPlane", "plane_config", "plane_in_thread", "plane_of", "running_plane"]

ADMIN = UserInfo(name="admin", groups=(MASTERS_GROUP,))
"""Who a plane's own client is, unless it is told otherwise."""

FILLING = frozenset(
    descriptor.name
    for descriptor in (
        service_accounts.DESCRIPTOR,
        root_ca.DESCRIPTOR,
        flow_control.BOOTSTRAP,
        flow_control.CONDITIONS,
    )
)
"""The controllers that put objects into every namespace, or beside them. A plane for tests goes without: what is there
is the test's. Whoever wants them sets ``config.controllers`` to ``generic.builtin.CONTROLLERS``."""

_REGISTERED_AT_START = b'"kube-aggregator.kubernetes.io/automanaged":"onstart"'
START_SECONDS = 30.0
RESET_PAGE = 500

T = TypeVar("T")


class Plane:
    """A plane that serves, for use on its own loop. ``kubeconfig`` is the administrator's; ``control_plane`` and
    ``running`` are the framework's objects behind it."""

    def __init__(self, control_plane: ControlPlane, running: RunningControlPlane) -> None:
        self.control_plane, self.running = control_plane, running

    @property
    def url(self) -> str:
        return self.running.url

    @property
    def kubeconfig(self) -> Path:
        assert self.running.kubeconfig is not None, "this plane's config writes no kubeconfig"
        return self.running.kubeconfig

    def client(self, user: UserInfo = ADMIN) -> LoopbackClient:
        """A client that skips the socket, but neither authorization nor admission."""
        return self.running.loopback(user)

    async def reset(self) -> None:
        """Remove all objects, whatever their finalizers say, and wait until the plane is as it was at its start.

        Revisions go on; watches that are open see the objects deleted, then the system namespaces again.
        """
        plane = self.control_plane
        if plane.tables.current.storage_of("", "namespaces") is None:
            await _erase(plane.kv, plane.config.prefix)
            await plane.make_roles()
            return
        namespaces = ResourceClient(self.client(), NAMESPACES, namespaced=False)
        listed = await namespaces.list()
        async with namespaces.watch(resource_version=listed.resource_version) as events:
            await _erase(plane.kv, plane.config.prefix)
            missing = set(SYSTEM_NAMESPACES)
            while missing:
                event = await anext(events)
                if event.type == "ADDED":
                    missing.discard(event.object["metadata"]["name"])
        await plane.make_roles()


async def _erase(kv: KV, prefix: bytes) -> None:
    """Delete every key of an object; keys of our own bookkeeping (one word, no slash before) are not objects, and what
    a server registers at its start alone stays."""
    start, end = prefix, prefix_end(prefix)
    while True:
        page = await kv.range(start, end, limit=RESET_PAGE)
        for item in page.items:
            if not item.key.startswith(prefix + b"controlplane/") and _REGISTERED_AT_START not in item.value:
                await kv.delete(item.key, expect=item.mod_revision)
        if not page.more:
            return
        start = page.items[-1].key + b"\0"


def plane_config(directory: Path, *, store: str = "memory:", cert_dir: Path | None = None) -> Config:
    """A config with a free port and everything in ``directory``, without the controllers of ``FILLING``, else as by
    default."""
    config = config_of(GenericOptions())
    config.port, config.store = 0, store
    config.cert_dir = cert_dir or directory / "certs"
    config.kubeconfig = directory / "admin.conf"
    config.controllers = [controller for controller in config.controllers if controller.name not in FILLING]
    return config


@asynccontextmanager
async def running_plane(
    directory: Path | None = None,
    *,
    store: str = "memory:",
    cert_dir: Path | None = None,
    configure: Callable[[Config], None] | None = None,
) -> AsyncIterator[Plane]:
    """Serve inside the block, ready at its begin.

    Args:
        directory: where certificates and the kubeconfig go; a temporary one by default.
        store: a store URL.
        cert_dir: certificates that several planes share (making them is most of a plane's start).
        configure: changes the config before it is completed: kinds, controllers, admission, filters.
    """
    async with AsyncExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="controlplane-")))
        config = plane_config(directory, store=store, cert_dir=cert_dir)
        if configure is not None:
            configure(config)
        plane = await stack.enter_async_context(plane_of(config))
        yield plane


@asynccontextmanager
async def plane_of(config: Config) -> AsyncIterator[Plane]:
    """Serve what a config of one's own says, ready at the block's begin."""
    async with AsyncExitStack() as stack:
        control_plane = await stack.enter_async_context(open_plane(config.complete()))
        running = await stack.enter_async_context(control_plane.prepare().serving())
        await running.ready()
        yield Plane(control_plane, running)


class ThreadedPlane:
    """A plane on a loop and a thread of its own, for tests that are not asyncio's."""

    def __init__(self, plane: Plane, loop: asyncio.AbstractEventLoop) -> None:
        self._plane, self._loop = plane, loop
        self.url, self.kubeconfig = plane.url, plane.kubeconfig

    def run(self, use: Callable[[Plane], Coroutine[Any, Any, T]], *, seconds: float = START_SECONDS) -> T:
        """Run a coroutine with the plane on its loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(use(self._plane), self._loop).result(seconds)

    def reset(self) -> None:
        """See ``Plane.reset``."""
        self.run(lambda plane: plane.reset())


@contextmanager
def plane_in_thread(
    directory: Path | None = None,
    *,
    store: str = "memory:",
    cert_dir: Path | None = None,
    configure: Callable[[Config], None] | None = None,
) -> Iterator[ThreadedPlane]:
    """``running_plane`` on a loop and thread of its own."""
    started: concurrent.futures.Future[ThreadedPlane] = concurrent.futures.Future()
    stop: concurrent.futures.Future[None] = concurrent.futures.Future()

    async def serve() -> None:
        try:
            async with running_plane(directory, store=store, cert_dir=cert_dir, configure=configure) as plane:
                started.set_result(ThreadedPlane(plane, asyncio.get_running_loop()))
                await asyncio.wrap_future(stop)
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
                return
            raise

    def thread_main() -> None:
        with runner() as used:
            used.run(serve())

    thread = threading.Thread(target=thread_main, name="controlplane", daemon=True)
    thread.start()
    try:
        yield started.result(START_SECONDS)
    finally:
        if not stop.done():
            stop.set_result(None)
        thread.join(START_SECONDS)
