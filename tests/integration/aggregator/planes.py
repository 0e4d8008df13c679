"""A main server and another one that it speaks for, both real, in one process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from controlplane.aggregator.config import AggregationConfig
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS
from controlplane.client.webhook import Endpoint
from controlplane.generic.config import Config
from controlplane.generic.server import RunningControlPlane
from controlplane.testing.planes import plane_config, plane_of
from tests.integration.plane import Plane, running_plane
from tests.unit.base.tls import certs

__all__ = ["GROUP", "Main", "Services", "aggregated", "api_service", "eventually", "main_config", "main_plane"]

PROXIES = certs.ca("proxies")
GROUP = "factory.example.org"
SERVICE = ("shop", "factory")
SERVER_NAME = "factory.shop.svc"
PATH = f"/apis/{GROUP}/v1"
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

_SPEC = {"type": "object", "properties": {"color": {"type": "string", "maxLength": 20}}}
WIDGETS = Resource(
    group=GROUP,
    plural="widgets",
    singular="widget",
    kind="Widget",
    namespaced=True,
    versions=(ResourceVersion(name="v1", schema={"type": "object", "properties": {"spec": _SPEC}}),),
    storage_version="v1",
    key_prefix=f"{GROUP}/widgets",
    native=False,
)


class Services:
    """Where services are; ``port`` 0 is nowhere."""

    def __init__(self) -> None:
        self.port = 0

    async def resolve(self, namespace: str, name: str, port: int) -> Endpoint:
        if (namespace, name) != SERVICE or not self.port:
            raise LookupError(f'service "{name}" not found')
        return Endpoint("127.0.0.1", self.port)


class Main:
    """The main server, and where it finds others."""

    def __init__(self, plane: Plane, services: Services, directory: Path) -> None:
        self.plane, self.services, self.directory = plane, services, directory

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        return await self.plane.call(method, path, body, **options)

    async def available(self) -> tuple[str, str, str] | None:
        """What the condition says."""
        _, obj = await self.call("GET", f"{APISERVICES}/v1.{GROUP}")
        conditions = (obj.get("status") or {}).get("conditions") or [None]
        return conditions[0] and tuple(conditions[0][key] for key in ("status", "reason", "message"))

    async def freshness(self) -> tuple[str, list[str]] | None:
        """What aggregated discovery says of the group: how fresh, and which resources."""
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        async with self.plane.http.get(
            self.plane.running.url + "/apis", headers={"Accept": accept}, ssl=self.plane.admin_tls
        ) as answer:
            document = await answer.json(content_type=None)
        for group in document["items"]:
            if group["metadata"]["name"] == GROUP:
                version = group["versions"][0]
                return version["freshness"], [one["resource"] for one in version.get("resources") or ()]
        return None


def main_config(directory: Path, services: Services) -> Config:
    config = plane_config(directory)
    cert, key = certs.client("proxy", issuer=PROXIES).write(directory, "proxy")
    authority = directory / "proxies.crt"
    authority.write_bytes(PROXIES.pem)
    config.aggregation = AggregationConfig(proxy_cert_file=str(cert), proxy_key_file=str(key))
    config.front_proxy_ca_file, config.front_proxy_names = str(authority), ("proxy",)
    config.front_proxy_headers = STANDARD_HEADERS
    config.service_resolver = services
    return config


@asynccontextmanager
async def main_plane(directory: Path, change: Callable[[Config], None] | None = None) -> AsyncIterator[Main]:
    services = Services()
    config = main_config(directory, services)
    if change is not None:
        change(config)
    async with running_plane(directory, config) as plane:
        yield Main(plane, services, directory)


@asynccontextmanager
async def aggregated(
    main: Main, *, port: int = 0, change: Callable[[Config], None] | None = None
) -> AsyncIterator[RunningControlPlane]:
    """The other server; the main one finds it inside the block."""
    config = plane_config(main.directory / "other")
    config.port = port
    config.resources, config.sources, config.calls, config.controllers, config.admission = [WIDGETS], [], [], [], []
    config.external_hostname = SERVER_NAME
    config.front_proxy_ca_file, config.front_proxy_names = str(main.directory / "proxies.crt"), ("proxy",)
    config.front_proxy_headers = STANDARD_HEADERS
    config.authorization_modes = ("AlwaysAllow",)
    if change is not None:
        change(config)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(plane_of(config))
        main.services.port = plane.running.port
        yield plane.running


def api_service(main: Main, **spec: Any) -> Obj:
    bundle = (main.directory / "other" / "certs" / "serving-ca.crt").read_bytes()
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": "v1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
            "service": {"namespace": SERVICE[0], "name": SERVICE[1]},
            "caBundle": base64.b64encode(bundle).decode(),
            **spec,
        },
    }


async def eventually(wanted: Callable[[], Any], *, seconds: float = 15.0) -> Any:
    """Ask again and again until the answer is not false."""
    async with asyncio.timeout(seconds):
        while not (found := await wanted()):  # noqa: ASYNC110 - another process's state, as a client sees it
            await asyncio.sleep(0.02)
    return found
