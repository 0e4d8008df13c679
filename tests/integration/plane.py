"""A control plane in the test's process: real TLS, real store, a free port."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from controlplane.generic.config import Config
from controlplane.generic.server import RunningControlPlane
from controlplane.testing.planes import plane_config as config_in
from controlplane.testing.planes import plane_of

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


@asynccontextmanager
async def running_plane(
    directory: Path, config: Config | None = None, *, own_clients: bool = True
) -> AsyncIterator[Plane]:
    """Serve inside the block, ready at its begin. ``own_clients`` False: there is no admin's certificate."""
    config = config if config is not None else config_in(directory)
    async with plane_of(config) as plane:
        certs = config.cert_dir
        admin = ssl.create_default_context(cafile=str(certs / "serving-ca.crt"))
        if own_clients:
            admin.load_cert_chain(certs / "admin.crt", certs / "admin.key")
        anonymous = ssl.create_default_context(cafile=str(certs / "serving-ca.crt"))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield Plane(plane.running, http, admin, anonymous)
