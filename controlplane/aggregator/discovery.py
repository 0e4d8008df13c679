"""What other servers' discovery says, fetched from each and remembered.

A server is asked once for all of its versions where it has aggregated discovery, else once a version. What cannot be
fetched is stale: the resources that were known are still shown, and everybody is told that they may not be all.

Source: kubernetes/kube-aggregator ``pkg/apiserver/handler_discovery.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from multidict import CIMultiDict

from controlplane.aggregator.availability import AGGREGATOR
from controlplane.aggregator.backoff import Backoff
from controlplane.aggregator.legacy_discovery import from_resource_list
from controlplane.aggregator.registration import Registration
from controlplane.aggregator.transport import BackendTransport, NotResolved
from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.discovery.received import NotDiscovery, groups_of, resources_of
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.client.forward.exchange import Answer
from controlplane.client.forward.head import header_lines
from controlplane.client.forward.identity import identity_headers
from controlplane.client.forward.transport import NotTrusted, Unanswered
from controlplane.reconcile.controller import Result

__all__ = ["REFRESH_SECONDS", "RemoteDiscovery"]

log = logs.get(__name__)

REFRESH_SECONDS = 60.0
FIRST_SECONDS = 0.5
"""After a failure; doubled up to the refresh."""
FETCH_SECONDS = 5.0

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_LEGACY_USER = UserInfo(name=AGGREGATOR.name)

Documents = Mapping[GroupVersion, Obj]


class FetchFailed(Exception):
    """There is no document now; the text says why."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What a service has said. ``at``: before it was asked, on the monotonic clock."""

    documents: Documents
    etag: str
    at: float


class RemoteDiscovery:
    """``reconcile`` fetches what is said of one version. ``publish`` is given it."""

    def __init__(
        self,
        remotes: Callable[[], Mapping[str, Registration]],
        transport: BackendTransport,
        publish: Callable[[str, Obj], None],
        clock: Clock,
    ) -> None:
        self._remotes, self._transport, self._publish, self._clock = remotes, transport, publish, clock
        self._fetched: dict[tuple[str, str, int], _Fetched] = {}
        self._known: dict[str, Obj] = {}
        self._marked: dict[str, float] = {}
        self._backoff = Backoff[str](FIRST_SECONDS, REFRESH_SECONDS)

    def mark(self, name: str) -> None:
        """What was fetched before now is too old for this version."""
        self._marked[name] = self._clock.monotonic()

    async def reconcile(self, name: str) -> Result | None:
        """Fetch, publish, and want to be called again."""
        registration = self._remotes().get(name)
        if registration is None:
            self._forget(name)
            return None
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                documents = await self._documents(registration)
        except (FetchFailed, TimeoutError) as error:
            log.warning("discovery of an API service is stale", name=name, error=str(error) or "request timed out")
            self._tell(registration, self._known.get(name), "Stale")
            return Result(requeue_after=self._backoff.failed(name))
        self._backoff.forget(name)
        found = documents.get(registration.gv)
        if found is not None:
            self._known[name] = found
        self._tell(registration, found, "Current")
        self.mark(name)
        return Result(requeue_after=REFRESH_SECONDS)

    def _tell(self, registration: Registration, found: Obj | None, freshness: str) -> None:
        entry = found if found is not None else {"version": registration.gv.version}
        self._publish(registration.name, {**entry, "freshness": freshness})

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._marked.pop(name, None)
        self._backoff.forget(name)
        used = {found.backend.service for found in self._remotes().values() if found.backend is not None}
        self._fetched = {service: one for service, one in self._fetched.items() if service in used}

    async def _documents(self, registration: Registration) -> Documents:
        """What the service says of its versions.

        Raises:
            FetchFailed.
        """
        backend = registration.backend
        assert backend is not None
        known = self._fetched.get(backend.service)
        if known is not None and known.at > self._marked.get(registration.name, 0.0):
            return known.documents
        at = self._clock.monotonic()
        headers = identity_headers(AGGREGATOR)
        headers["Accept"] = _ACCEPT
        if known is not None and known.etag:
            headers["If-None-Match"] = known.etag
        async with await self._get(registration, "/apis", headers) as answer:
            if answer.status == 304 and known is not None:
                self._fetched[backend.service] = _Fetched(known.documents, known.etag, at)
                return known.documents
            if answer.status == 503:
                service = f"{backend.namespace}/{backend.name}:{backend.port}"
                raise FetchFailed(f"service {service} returned non-success response code: 503")
            if answer.status == 200 and _is_aggregated(answer.headers.get("Content-Type", "")):
                documents = _by_version(await _read(answer))
                self._fetched[backend.service] = _Fetched(documents, answer.headers.get("Etag", ""), at)
                return documents
        return {registration.gv: await self._legacy(registration)}

    async def _legacy(self, registration: Registration) -> Obj:
        headers = identity_headers(_LEGACY_USER)
        headers["Accept"] = "application/json"
        async with await self._get(registration, registration.path, headers) as answer:
            if answer.status != 200:
                raise FetchFailed(f"failed to download legacy discovery for {registration.path}: {answer.status}")
            try:
                return from_resource_list(registration.gv, resources_of(await _read(answer)))
            except NotDiscovery as error:
                raise FetchFailed(f"not a list of resources: {error}") from error

    async def _get(self, registration: Registration, path: str, headers: CIMultiDict[str]) -> Answer:
        backend = registration.backend
        assert backend is not None
        try:
            endpoint = await self._transport.resolve(backend)
            return await self._transport.send(backend, endpoint, "GET", path, lines=header_lines(headers.items()))
        except (NotResolved, NotTrusted, Unanswered) as error:
            raise FetchFailed(str(error)) from error


def _is_aggregated(content_type: str) -> bool:
    parts = {part.strip().lower() for part in content_type.split(";")}
    return {"g=apidiscovery.k8s.io", "v=v2", "as=apigroupdiscoverylist"} <= parts


async def _read(answer: Answer) -> Obj:
    try:
        value = loads(await answer.read())
    except (OSError, MalformedJSON) as error:
        raise FetchFailed(f"an answer cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise FetchFailed("an answer is not a JSON object")
    return value


def _by_version(document: Obj) -> Documents:
    """The entries of an aggregated document. Kinds that it leaves out are empty, as old clients need them."""
    found: dict[GroupVersion, Obj] = {}
    try:
        groups = groups_of(document)
    except NotDiscovery as error:
        raise FetchFailed(f"not a list of groups: {error}") from error
    for group in groups:
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                for subresource in resource.get("subresources") or ():
                    subresource.setdefault("responseKind", {"group": "", "version": "", "kind": ""})
            found[GroupVersion(group["metadata"].get("name") or "", version["version"])] = version
    return found
