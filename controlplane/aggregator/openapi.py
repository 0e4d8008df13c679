"""What other servers' OpenAPI says, fetched from each: the hash of each version's document of OpenAPI 3.0, which they
answer themselves, and their part of the one document of Swagger 2.0, which is merged here.

Source: kubernetes/kube-aggregator ``pkg/controllers/openapi`` and ``openapiv3``.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from controlplane.aggregator.backoff import Backoff
from controlplane.aggregator.metrics import SWAGGER_CHANGES, SWAGGER_SECONDS
from controlplane.aggregator.registration import Registration
from controlplane.aggregator.transport import BackendTransport, NotResolved
from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.openapi.remote_parts import NotOpenAPI, hash_in, part_of
from controlplane.apiserver.registry.remote import RemoteSwagger
from controlplane.base import logs
from controlplane.client.forward.head import header_lines
from controlplane.client.forward.identity import identity_headers
from controlplane.client.forward.transport import NotTrusted, Unanswered
from controlplane.reconcile.controller import Result

__all__ = ["REFRESH_SECONDS", "RemoteOpenAPI"]

log = logs.get(__name__)

REFRESH_SECONDS = 60.0
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 3600.0
"""After a failure."""
FETCH_SECONDS = 60.0
LIMIT_BYTES = 64 << 20

_USER = UserInfo(name="system:aggregator")


class _NoDocument(Exception):
    """There is no document now; the text says why."""


class RemoteOpenAPI:
    """``learn`` is given what was fetched: the name of an API service, and the fields of its ``RemoteVersion``."""

    def __init__(
        self,
        remotes: Callable[[], Mapping[str, Registration]],
        transport: BackendTransport,
        learn: Callable[..., None],
    ) -> None:
        self._remotes, self._transport, self._learn = remotes, transport, learn
        self._backoff = Backoff[tuple[str, str]](FIRST_SECONDS, LONGEST_SECONDS)
        self._known: dict[str, RemoteSwagger] = {}

    async def hash(self, name: str) -> Result | None:
        """Reconcile the hash of a version's document of OpenAPI 3.0."""
        return await self._reconcile("v3", name, self._fetch_hash)

    async def swagger(self, name: str) -> Result | None:
        """Reconcile a version's part of Swagger 2.0."""
        return await self._reconcile("v2", name, self._fetch_swagger)

    async def _reconcile(self, kind: str, name: str, fetch: Callable[[Registration], Any]) -> Result | None:
        registration = self._remotes().get(name)
        if registration is None:
            if self._known.pop(name, None) is not None:
                SWAGGER_CHANGES.labels_cached((name, "delete")).inc()
            self._backoff.forget((kind, name))
            return None
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                await fetch(registration)
        except (_NoDocument, NotOpenAPI, TimeoutError) as error:
            log.info("OpenAPI of an API service cannot be had", name=name, kind=kind, error=str(error) or "timed out")
            return Result(requeue_after=self._backoff.failed((kind, name)))
        self._backoff.forget((kind, name))
        return Result(requeue_after=REFRESH_SECONDS)

    async def _fetch_hash(self, registration: Registration) -> None:
        body = await self._get(registration, "/openapi/v3")
        root = _parsed(body) if body is not None else {}
        self._learn(registration.name, openapi_hash=hash_in(root, registration.path))

    async def _fetch_swagger(self, registration: Registration) -> None:
        body = await self._get(registration, "/openapi/v2")
        if body is None:
            self._learn(registration.name, swagger=None)
            return
        digest = hashlib.sha256(body).hexdigest()
        known = self._known.get(registration.name)
        if known is None or known.digest != digest:
            began, reason = time.perf_counter(), "add" if known is None else "update"
            document = await asyncio.to_thread(_parsed, body)
            known = self._known[registration.name] = part_of(document, f"{registration.path}/", digest)
            SWAGGER_CHANGES.labels_cached((registration.name, reason)).inc()
            SWAGGER_SECONDS.labels_cached((reason,)).set(time.perf_counter() - began)
        self._learn(registration.name, swagger=known)

    async def _get(self, registration: Registration, path: str) -> bytes | None:
        """A document; None: the server has none.

        Raises:
            _NoDocument.
        """
        backend = registration.backend
        assert backend is not None
        headers = identity_headers(_USER)
        headers["Accept"] = "application/json"
        try:
            endpoint = await self._transport.resolve(backend)
            async with await self._transport.send(
                backend, endpoint, "GET", path, lines=header_lines(headers.items())
            ) as answer:
                if answer.status == 404:
                    return None
                if answer.status != 200:
                    raise _NoDocument(f"failed to retrieve openAPI spec, http error: {answer.status}")
                body = await answer.read(limit_bytes=LIMIT_BYTES)
        except (NotResolved, NotTrusted, Unanswered, OSError) as error:
            raise _NoDocument(str(error)) from error
        return body


def _parsed(body: bytes) -> Obj:
    try:
        document = loads(body)
    except MalformedJSON as error:
        raise _NoDocument(str(error)) from error
    if not isinstance(document, dict):
        raise _NoDocument("not a JSON object")
    return document
