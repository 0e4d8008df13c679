"""Servers on one etcd, each a process, upgraded one after the other under load and rolled back; one of them is killed
on the way. With CONTROLPLANE_TEST_LONG three of them, three times and with more load, else two, once."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.testing.etcd import EtcdProcess
from controlplane.testing.fleet import Balancer, load_with
from tests.aio import run
from tests.conftest import LONG
from tests.integration.fleet.program import VERSION
from tests.integration.fleet.versions import LOADED
from tests.processes import Plane, free_port, sample_plane

PAUSED = [replace(kind, pause_seconds=0.01 if LONG else 0.1) for kind in LOADED]
PROGRAM = "tests.integration.fleet.program"
SERVERS = ("a", "b", "c") if LONG else ("a", "b")


class Processes:
    """Servers as processes, each on a port of its own, behind a balancer that is told when they come and go."""

    def __init__(self, directory: Path, store: str) -> None:
        self._directory, self._store = directory, store
        self._ports = {name: free_port() for name in SERVERS}
        self._running: dict[str, tuple[ExitStack, Plane]] = {}
        self.balancer = Balancer()

    async def start(self, name: str, version: str) -> None:
        await asyncio.to_thread(self._start, name, version)
        await self.balancer.add(name, self._directory / name / "admin.conf")

    async def stop(self, name: str, *, kill: bool = False) -> None:
        """SIGTERM, or kill -9; the balancer learns of it only then."""
        stack, plane = self._running.pop(name)
        if kill:
            plane.kill()
        await asyncio.to_thread(stack.close)
        self.balancer.remove(name)

    async def roll(self, version: str, *, kill: str = "") -> None:
        for name in SERVERS:
            await self.stop(name, kill=name == kill)
            await self.start(name, version)

    async def close(self) -> None:
        await self.balancer.close()
        for name in list(self._running):
            await self.stop(name)

    def _start(self, name: str, version: str) -> None:
        (self._directory / name).mkdir(exist_ok=True)
        os.environ[VERSION] = version
        stack = ExitStack()
        plane = stack.enter_context(
            sample_plane(
                self._directory / name,
                store=self._store,
                flags=(f"--cert-dir={self._directory / 'certs'}", "--peer-proxy"),
                port=self._ports[name],
                module=PROGRAM,
            )
        )
        self._running[name] = stack, plane


@pytest.mark.etcd
@pytest.mark.timeout(420 if LONG else 180)
def test_clients_see_retriable_errors_only_and_informers_lose_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            etcd = EtcdProcess(tmp_path / "etcd")
            await etcd.start()
            stack.push_async_callback(etcd.close)
            servers = Processes(tmp_path, f"etcd:{etcd.endpoint}")
            stack.push_async_callback(servers.close)
            for name in SERVERS:
                await servers.start(name, "old")
            async with load_with(servers.balancer, PAUSED) as load:
                for _ in range(3 if LONG else 1):
                    await servers.roll("new", kill="b")
                    await servers.roll("old")
            load.check()
            print(load.summary())

    run(main(), seconds=400 if LONG else 170)
