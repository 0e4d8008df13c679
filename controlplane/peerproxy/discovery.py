"""What a peer says that it serves itself, asked over the same way that requests go to it.

Source: the requests of kubernetes/apiserver ``pkg/util/peerproxy/peer_discovery.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TypeVar

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.user import AUTHENTICATED_GROUP, UserInfo
from controlplane.apiserver.discovery.received import NotDiscovery, groups_of, resources_of
from controlplane.apiserver.openapi.remote_parts import NotOpenAPI
from controlplane.apiserver.registry.peers import Peer
from controlplane.client.forward.head import header_lines
from controlplane.client.forward.identity import MEANT_FOR, PEER_PROXIED, identity_headers
from controlplane.client.forward.transport import ForwardTransport, NotTrusted, Unanswered
from controlplane.client.webhook import Endpoint
from controlplane.peerproxy.trust import NOT_BELIEVED, NOT_USABLE, PeerTrust, remedy_of

__all__ = ["AskFailed", "PeerDocuments", "checked", "parsed", "path_of"]

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPT = f"{_AGGREGATED};profile=nopeer,{_AGGREGATED},application/json"
_USER = UserInfo(name="system:apiserver", uid="system:apiserver", groups=(AUTHENTICATED_GROUP,))
LIMIT_BYTES = 64 << 20
WRONG_ADDRESS = (
    "the peer's --peer-advertise-ip and --peer-advertise-port (or --advertise-address, or --bind-address) must say "
    "where this server reaches it"
)

T = TypeVar("T")


class AskFailed(Exception):
    """There is no document now; the text says why. ``remedy``: what to do, empty if time may heal it."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.remedy = remedy


class PeerDocuments:
    """Reads documents of peers."""

    def __init__(self, transport: ForwardTransport, trust: PeerTrust) -> None:
        self._transport, self._trust = transport, trust

    async def groups(self, peer: Peer) -> tuple[Obj, ...]:
        """All groups in the aggregated form, the core group first.

        Raises:
            AskFailed.
        """
        core = await self.document(peer, "/api", accept=_ACCEPT, absent={"items": []})
        named = await self.document(peer, "/apis", accept=_ACCEPT)
        return (*checked(lambda: groups_of(core), "/api"), *checked(lambda: groups_of(named), "/apis"))

    async def legacy(self, peer: Peer, gvs: Iterable[GroupVersion]) -> dict[GroupVersion, Mapping[str, Obj]]:
        """The lists of resources of some versions; one that the peer does not have after all is empty.

        Raises:
            AskFailed.
        """
        none: Obj = {"resources": []}
        return {gv: _entries(path_of(gv), await self.document(peer, path_of(gv), absent=none)) for gv in gvs}

    async def document(
        self, peer: Peer, path: str, *, accept: str = "application/json", absent: Obj | None = None
    ) -> Obj:
        """One JSON object; ``absent`` where there is none.

        Raises:
            AskFailed.
        """
        body = await self.body(peer, path, accept=accept)
        if body is None:
            if absent is None:
                raise AskFailed(f"{path}: 404")
            return absent
        return parsed(path, body)

    async def body(self, peer: Peer, path: str, *, accept: str = "application/json") -> bytes | None:
        """A document's bytes; None where there is none.

        Raises:
            AskFailed.
        """
        headers = identity_headers(_USER)
        headers["Accept"], headers[PEER_PROXIED], headers[MEANT_FOR] = accept, "true", peer.server_id
        try:
            answer = await self._transport.send(
                self._trust.current, Endpoint(peer.host, peer.port), "GET", path, lines=header_lines(headers.items())
            )
            async with answer:
                if answer.status == 404:
                    return None
                if answer.status == 401:
                    raise AskFailed(f"{path}: 401 Unauthorized", NOT_BELIEVED)
                if answer.status == HTTPStatus.MISDIRECTED_REQUEST:
                    raise AskFailed(f"{peer.host}:{peer.port} is another server's address", WRONG_ADDRESS)
                if answer.status != 200:
                    raise AskFailed(f"{path}: {answer.status}")
                body = await answer.read(limit_bytes=LIMIT_BYTES)
        except NotTrusted as error:
            raise AskFailed(str(error), remedy_of(str(error)) or NOT_USABLE) from error
        except (Unanswered, OSError) as error:
            raise await self._failure(peer, str(error)) from error
        return body

    async def _failure(self, peer: Peer, why: str) -> AskFailed:
        """What a request that failed for ``why`` really failed for."""
        remedy = remedy_of(why)
        if not remedy and not why.startswith("dial "):
            try:
                refusal = await self._transport.refusal(self._trust.current, Endpoint(peer.host, peer.port))
            except NotTrusted as error:  # the files have changed since
                return AskFailed(str(error), NOT_USABLE)
            why, remedy = refusal or why, remedy_of(refusal)
        return AskFailed(why, remedy)


def path_of(gv: GroupVersion) -> str:
    return f"/apis/{gv.group}/{gv.version}" if gv.group else f"/api/{gv.version}"


def parsed(path: str, body: bytes) -> Obj:
    """Raises AskFailed."""
    try:
        value = loads(body)
    except MalformedJSON as error:
        raise AskFailed(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise AskFailed(f"{path}: not a JSON object")
    return value


def _entries(path: str, document: Obj) -> dict[str, Obj]:
    """Of a list of resources, by name. Raises AskFailed."""
    return {entry["name"]: entry for entry in checked(lambda: resources_of(document), path)}


def checked(read: Callable[[], T], path: str) -> T:
    """What is read of a document.

    Raises:
        AskFailed: it is not what it should be.
    """
    try:
        return read()
    except (NotDiscovery, NotOpenAPI) as error:
        raise AskFailed(f"{path}: {error}") from error
