"""An API server without sockets and filters: endpoints over a mirror on a memory store, driven by Request values."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision
from controlplane.apiserver.discovery.handler import Discovery
from controlplane.apiserver.endpoints.dispatch import WRITE_SECONDS, APIEndpoints
from controlplane.apiserver.registry.table import TableHolder, build_table
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.request import Request, Response
from controlplane.client.request_info import parse_request_info
from controlplane.client.webhook import WebhookTransport
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.building import build_chain, select_plugins
from controlplane.plugins.builtin import ORDERED
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.kv.backends import open_kv

__all__ = ["PLUGINS", "Answer", "Plane", "running_plane"]

PLUGINS = tuple(select_plugins(ORDERED))
"""Those that are on by default."""

USER = UserInfo(name="tester", groups=("system:masters",))


class Everyone:
    """Allows all, except creates by a user named ``reader``."""

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        if attributes.user.name == "reader":
            return Decision.NO_OPINION, "readers may not create"
        return Decision.ALLOW, ""


class Answer:
    """A response, or the Status of an APIError, decoded."""

    def __init__(self, response: Response, warnings: list[str]) -> None:
        self.response, self.status, self.warnings = response, response.status, warnings
        self.raw = response.content()

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def message(self) -> str:
        message: str = self.body["message"]
        return message


class Plane:
    """``tables`` may be swapped; ``call`` makes a request as ``user``."""

    def __init__(self, endpoints: APIEndpoints, tables: TableHolder, discovery: Discovery, mirror: Mirror) -> None:
        self.endpoints, self.tables, self.discovery, self.mirror = endpoints, tables, discovery, mirror

    async def call(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        user: UserInfo = USER,
    ) -> Answer:
        path, _, query = url.partition("?")
        request = Request(method, path, query_string=query, headers=headers, body=_raw(body))
        request.info, request.user = parse_request_info(method, path, query), user
        try:
            if request.info.is_resource:
                response = await self.endpoints.handle(request)
            else:
                found = self.discovery.handle(request)
                response = found if found is not None else Response(404, b"404 page not found\n")
        except APIError as error:
            response = Response(error.code, json.dumps(error.status()).encode())
        return Answer(response, request.warnings)

    async def namespace(self, name: str = "ns") -> None:
        answer = await self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert answer.status == 201, answer.raw

    async def config_map(self, name: str = "a", *, namespace: str = "ns", **fields: Any) -> Any:
        """Create a configmap; ``metadata`` in ``fields`` is added to its name."""
        metadata = {"name": name, **fields.pop("metadata", {})}
        answer = await self.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": metadata, **fields})
        assert answer.status == 201, answer.raw
        return answer.body


def _raw(body: Any) -> bytes:
    """Bytes and text as they are, nothing for None, anything else as JSON."""
    if body is None or isinstance(body, bytes):
        return body or b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@asynccontextmanager
async def running_plane(
    resources: tuple[Resource, ...] = BUILTIN,
    *,
    plugins: tuple[AdmissionPlugin, ...] = PLUGINS,
    clock: Clock | None = None,
    wrap: Callable[[Any], Any] = lambda storage: storage,
    garbage_collection: bool = True,
    write_seconds: float = WRITE_SECONDS,
    source: random.Random | None = None,
    configurations: Mapping[str, Any] | None = None,
    authorizer: Authorizer | None = None,
) -> AsyncIterator[Plane]:
    """A plane that serves ``resources`` from an empty memory store; ``wrap`` may stand before each storage."""
    clock = clock or SystemClock()
    kv = await open_kv("memory:")
    mirror = Mirror(kv)
    await mirror.start()
    try:
        tables = TableHolder()
        tables.swap(build_table((resource, wrap(mirror.storage(resource))) for resource in resources))
        chain = build_chain(
            plugins,
            PluginServices(
                storage_of=tables.storage_of,
                clock=clock,
                mirror=mirror,
                tables=tables,
                authorizer=authorizer or Everyone(),
                webhooks=WebhookTransport(),
            ),
            served={str(resource.gr) for resource in resources},
            configurations=configurations,
        )
        endpoints = APIEndpoints(
            tables=tables,
            admission=chain,
            authorizer=Everyone(),
            clock=clock,
            garbage_collection=garbage_collection,
            write_seconds=write_seconds,
            source=source,
        )
        yield Plane(endpoints, tables, Discovery(tables, lambda: "127.0.0.1:6443"), mirror)
    finally:
        await mirror.close()
        await kv.close()
