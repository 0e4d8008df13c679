"""The peer record: what each server keeps in the store, under a lease of 15 s, so that the others know that it lives
and where it is. No API serves it, so nobody but servers can write it.

It is a v1 Endpoints, as kube-apiserver writes it; annotations are ours and optional.

Source: kubernetes/apiserver ``pkg/reconcilers/peer_endpoint_lease.go`` (key, form, times).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apiserver.identity.config import ServerIdentity
from controlplane.apiserver.identity.upkeep import REMOVE_SECONDS, Upkeep
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.live import LiveMapping
from controlplane.base.waiting import within
from controlplane.storage.api import Entry, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["HOLDER_ANNOTATION", "PEER_RECORDS", "PeerRecord", "PeerRecordKeeper", "read_record"]

ID_LABEL = "apiserverIdentity"
HOLDER_ANNOTATION = "controlplane.internal/holder-identity"
"""Which process of a server wrote the record: another one means that the server has been started again."""

TTL_SECONDS = 15
REFRESH_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 1.0
"""After a failed refresh: while it fails, the record is running out."""

MOST_PORT = 65_535

VERSION = "v1"
PEER_RECORDS = Resource(
    group="",
    plural="peerserverleases",
    singular="peerserverlease",
    kind="Endpoints",
    namespaced=False,
    key_prefix="peerserverleases",
    storage_version=VERSION,
    versions=(ResourceVersion(name=VERSION, schema={"type": "object"}),),
    field_labels=(),
    volatile=True,
)
"""How records are stored; it is in no table, so nobody is served them, and they have no names."""

log = logs.get(__name__)


class PeerRecord(NamedTuple):
    """A server that lives. ``host`` is an IP address. ``holder``: which of its processes, ``""`` if it does not say
    (kube-apiserver). ``annotations``: what else it says."""

    server_id: str
    host: str
    port: int
    holder: str
    annotations: Mapping[str, str]

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_record(server_id: str, obj: Obj) -> PeerRecord | None:
    """What a stored record says, None if it does not say where its server is. ``server_id``: from its key."""
    try:
        subset = obj["subsets"][0]
        host, port = str(ip_address(str(subset["addresses"][0]["ip"]))), int(subset["ports"][0]["port"])
        if not 0 < port <= MOST_PORT:
            return None
        annotations = dict(obj["metadata"].get("annotations") or {})
        holder = annotations.pop(HOLDER_ANNOTATION, "")
        return PeerRecord(server_id, host, port, str(holder), annotations)
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
        return None


class PeerRecordKeeper:
    """The record of one server."""

    def __init__(self, storage: Storage, server: ServerIdentity, *, annotations: LiveMapping, clock: Clock) -> None:
        self._storage, self._server, self._annotations, self._clock = storage, server, annotations, clock
        self._key = Key("", server.id)
        self._last_holder = ""
        self._upkeep = Upkeep(
            f"peer record {server.id}",
            self._write,
            annotations=annotations,
            interval_seconds=REFRESH_SECONDS,
            longest_pause_seconds=LONGEST_PAUSE_SECONDS,
            clock=clock,
        )

    async def run(self) -> None:
        """Keep the record until ``stop``."""
        await self._upkeep.run()

    async def written(self) -> None:
        """Wait until there is a record."""
        await self._upkeep.written.wait()

    async def stop(self) -> None:
        """Refresh no more, and remove the record; if that cannot be done in ``REMOVE_SECONDS``, it runs out."""
        await self._upkeep.stop()
        try:
            await within(self._clock, REMOVE_SECONDS, self._storage.delete(self._key, _any, version=VERSION))
        except KeyNotFound:
            return
        except (StorageError, TimeoutError) as error:
            log.warning("the peer record is not removed, and runs out", server=self._server.id, error=error)

    async def _write(self) -> None:
        try:
            await self._storage.update(self._key, self._refreshed, version=VERSION, ttl_seconds=TTL_SECONDS)
        except KeyNotFound:
            await self._storage.create(self._key, self._record(1), ttl_seconds=TTL_SECONDS)
        self._last_holder = self._server.holder

    async def _refreshed(self, obj: Obj, _entry: Entry) -> Obj:
        metadata = obj["metadata"]
        holder = (metadata.get("annotations") or {}).get(HOLDER_ANNOTATION, "")
        if self._last_holder and holder != self._last_holder:
            log.error(
                "another server has the same id: host name and address must not both be equal",
                server=self._server.id,
                holder=holder,
            )
        return self._record(int(metadata.get("generation") or 0) + 1)

    def _record(self, generation: int) -> Obj:
        """``generation`` grows, so that each refresh is a write, which renews the lease."""
        server = self._server
        return {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "generation": generation,
                "labels": {ID_LABEL: server.id},
                "annotations": {**self._annotations, HOLDER_ANNOTATION: server.holder},
            },
            "subsets": [
                {
                    "addresses": [{"ip": server.peer_ip}],
                    "ports": [{"name": "https", "port": server.peer_port, "protocol": "TCP"}],
                }
            ],
        }


async def _any(_obj: Obj, _entry: Entry) -> None:
    """Whatever the record says, it is ours."""
