"""What other servers on the same store serve, as the resource table has it.

Such servers may be of other versions than this one: what is not served here is then answered by one of them, and
discovery shows what all of them serve together. Who they are, what they say and how they are called is told by whoever
puts this value into the table (``peerproxy``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from controlplane.apimachinery.identity import GVR, GroupVersion, Obj
from controlplane.apiserver.registry.remote import RemoteSwagger
from controlplane.base.values import dataclass
from controlplane.client.request import Request, Response
from controlplane.client.request_info import RequestInfo

__all__ = ["FROM_PEER", "NOT_ALL_HEARD", "Elsewhere", "Peer", "PeerOpenAPI", "PeerResources", "Peers"]

FROM_PEER = "from-peer"
"""Key of ``Request.values``: set where another server has sent the request on. It is answered by this one, or not at
all, and sees this server's own discovery."""

NOT_ALL_HEARD = "not all servers have said yet what they serve, please try again"
"""Message to who asks for what is unknown meanwhile."""


class Peer(Protocol):
    """A live server on the same store. ``host`` is an IP address; ``holder`` says which of its processes it is."""

    @property
    def server_id(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def holder(self) -> str: ...


class Peers(Protocol):
    """The live servers. ``own_id`` is this one's; ``peers`` are the others now, by id."""

    @property
    def own_id(self) -> str: ...
    @property
    def peers(self) -> Mapping[str, Peer]: ...

    def follow(self, changed: Callable[[Peer | None, Peer | None], None]) -> Callable[[], None]:
        """Tell of every change from now on: a server before and after it, None where it was or is not there. Returns
        how to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerOpenAPI:
    """What a server's documents say of one version. ``v3``: with ``components/schemas`` as its definitions. ``digest``:
    by which the server itself publishes the version's document of OpenAPI 3.0. ``product``: the server's version, as
    its documents tell it."""

    digest: str
    product: str
    v3: RemoteSwagger
    v2: RemoteSwagger


_OF_OBJECTS = frozenset({"get", "update", "patch", "delete"})
_OF_COLLECTIONS = frozenset({"list", "watch", "create", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerResources:
    """What one live server says that it serves itself.

    ``groups``: the entries of its aggregated discovery, in its order; the core group has no name. ``legacy``: entries
    of its lists of resources, by version and name. ``openapi``: of the versions of which it has what others lack.
    ``verbs``: of each resource and subresource (``""``).
    """

    groups: tuple[Obj, ...]
    legacy: Mapping[GroupVersion, Mapping[str, Obj]] = field(default_factory=dict)
    openapi: Mapping[GroupVersion, PeerOpenAPI] = field(default_factory=dict)
    verbs: Mapping[tuple[GVR, str], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        groups: tuple[Obj, ...],
        *,
        legacy: Mapping[GroupVersion, Mapping[str, Obj]] | None = None,
        openapi: Mapping[GroupVersion, PeerOpenAPI] | None = None,
    ) -> PeerResources:
        """From its documents."""
        return cls(groups=groups, legacy=legacy or {}, openapi=openapi or {}, verbs=dict(_verbs(groups)))

    def has(self, gv: GroupVersion) -> bool:
        """Whether it serves anything of a version."""
        return any(gvr.gv == gv for gvr, _subresource in self.verbs)

    def serves(self, info: RequestInfo) -> bool:
        """Whether it can answer a resource request."""
        verbs = self._verbs_of(info)
        return verbs is not None and info.verb in verbs

    def knows(self, info: RequestInfo) -> bool:
        """Whether it serves what a request is aimed at, if not by this verb: it refuses it as one who does."""
        verbs = self._verbs_of(info) or frozenset()
        at_path = verbs if info.subresource else verbs & (_OF_OBJECTS if info.name else _OF_COLLECTIONS)
        return bool(at_path)

    def _verbs_of(self, info: RequestInfo) -> frozenset[str] | None:
        return self.verbs.get((GVR(info.group, info.version, info.resource), info.subresource))


def _verbs(groups: tuple[Obj, ...]) -> Iterator[tuple[tuple[GVR, str], frozenset[str]]]:
    for group in groups:
        name = group["metadata"].get("name") or ""
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                gvr = GVR(name, version["version"], resource["resource"])
                yield (gvr, ""), frozenset(resource.get("verbs") or ())
                for subresource in resource.get("subresources") or ():
                    yield (gvr, subresource["subresource"]), frozenset(subresource.get("verbs") or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """All live servers but this one.

    ``own_id``: this server's, which decides where it stands among the others. ``servers``: by id. ``answer`` answers a
    request that cannot be served here; None: nobody is known to serve it. ``whole``: discovery of every form and
    OpenAPI show what is served elsewhere, too; else only aggregated discovery of the named groups does, as upstream's.
    ``all_heard``: whether every live server has said what it serves; until it has, what is unknown may be there.
    """

    own_id: str
    servers: Mapping[str, PeerResources]
    answer: Callable[[Request], Awaitable[Response] | None]
    whole: bool = True
    all_heard: Callable[[], bool] = lambda: True
    _able: dict[tuple[str, str, str, str, str], tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def able(self, info: RequestInfo) -> tuple[str, ...]:
        """The servers that can answer a resource request; if none can, those that serve what it is aimed at."""
        key = (info.verb, info.group, info.version, info.resource, info.subresource)
        able = self._able.get(key)
        if able is None:
            able = tuple(id_ for id_, server in self.servers.items() if server.serves(info))
            able = able or tuple(id_ for id_, server in self.servers.items() if server.knows(info))
            if able:  # of what there is there are not too many to be remembered
                self._able[key] = able
        return able

    def nobody_takes(self, info: RequestInfo) -> bool:
        """Whether no other server can answer a resource request, as far as all have been heard."""
        return self.all_heard() and not any(server.serves(info) for server in self.servers.values())

    def serves(self, info: RequestInfo) -> bool:
        """Whether some other server can answer a resource request, or refuse it as one that serves what it is for."""
        return bool(self.able(info))
