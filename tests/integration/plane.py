"""A control plane in the test's process: real TLS, real store, a free port."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from controlplane.generic.config import Config, config_of
from controlplane.generic.options import GenericOptions
from controlplane.generic.server import RunningControlPlane, open_plane

__all__ = ["Plane", "config_in", "running_plane"]


@dataclass(frozen=True, slots=True)
class Plane:
    """A running control plane and a client of it. ``http`` verifies the server and shows the admin's certificate."""

    running: RunningControlPlane
    http: aiohttp.ClientSession
    admin_tls: ssl.SSLContext
    anonymous_tls: ssl.SSLContext

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        anonymous: bool = False,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and decoded JSON (or text) of one request."""
        tls = self.anonymous_tls if anonymous else self.admin_tls
        async with self.http.request(method, self.running.url + path, json=body, ssl=tls, headers=headers) as response:
            if response.content_type == "application/json":
                return response.status, await response.json()
            return response.status, await response.text()


def config_in(directory: Path, *, store: str = "memory:") -> Config:
    """A config with a free port, everything else as by default."""
    config = config_of(GenericOptions())
    config.port, config.cert_dir, config.store = 0, directory / "certs", store
    config.kubeconfig = directory / "admin.conf"
    return config


@asynccontextmanager
async def running_plane(
    directory: Path, config: Config | None = None, *, own_clients: bool = True
) -> AsyncIterator[Plane]:
    """Serve inside the block, ready at its begin. ``own_clients`` False: there is no admin's certificate."""
    config = config if config is not None else config_in(directory)
    async with open_plane(config.complete()) as plane, plane.prepare().serving() as running:
        await running.ready()
        certs = config.cert_dir
        admin = ssl.create_default_context(cafile=str(certs / "serving-ca.crt"))
        if own_clients:
            admin.load_cert_chain(certs / "admin.crt", certs / "admin.key")
        anonymous = ssl.create_default_context(cafile=str(certs / "serving-ca.crt"))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield Plane(running, http, admin, anonymous)
