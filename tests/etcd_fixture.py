"""The etcd servers that tests of the store run on: the machine's own, and current releases where Docker runs.

One server of each kind serves the whole run; tests keep to prefixes of their own. A folder that uses the fixture names
it in its ``conftest.py``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

import pytest

from controlplane.testing.etcd import EtcdProcess, find_etcd

__all__ = ["SERVERS", "etcd", "etcd_server", "needs_etcd"]

RELEASES = {"docker-3.5": "3.5.21", "docker-3.6": "3.6.4"}
IMAGE = os.environ.get("CONTROLPLANE_TEST_ETCD_IMAGE", "bitnamilegacy/etcd")
"""Image of the releases above, without its tag."""

SERVERS = ["local", *RELEASES]


@contextmanager
def etcd_server(kind: str) -> Iterator[str]:
    """The location (what follows ``etcd:``) of a running server; skips the test where it cannot be had."""
    if kind in RELEASES:
        yield from _container(kind)
        return
    needs_etcd()
    server = EtcdProcess(progress_seconds=0.2)
    asyncio.run(server.start())
    try:
        yield server.endpoint
    finally:
        asyncio.run(server.close())


def needs_etcd() -> None:
    """Skip the test, by name, where there is no etcd binary."""
    try:
        find_etcd()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", params=SERVERS)
def etcd(request: pytest.FixtureRequest) -> Iterator[str]:
    """The location of a shared server, of each kind in turn."""
    with etcd_server(request.param) as location:
        yield location


def _container(kind: str) -> Iterator[str]:
    why = f"etcd {RELEASES[kind]} is not tested: no Docker engine, or no testcontainers"
    if find_spec("testcontainers") is None or not os.path.exists(
        os.environ.get("DOCKER_SOCKET", "/var/run/docker.sock")
    ):
        pytest.skip(why)
    docker = import_module("testcontainers.core.container")
    waiting = import_module("testcontainers.core.waiting_utils")
    client = "http://0.0.0.0:2379"
    command = f"etcd --listen-client-urls={client} --advertise-client-urls={client} --unsafe-no-fsync"
    container = docker.DockerContainer(f"{IMAGE}:{RELEASES[kind]}").with_exposed_ports(2379).with_command(command)
    with container:
        waiting.wait_for_logs(container, "ready to serve client requests")
        yield f"{container.get_container_host_ip()}:{container.get_exposed_port(2379)}"
