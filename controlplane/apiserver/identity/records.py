"""The servers that live, as the mirror has their records: every server sees every record in the step that applies it.

Nobody polls. A record that runs out is a deletion like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apiserver.identity.record import PEER_RECORDS, VERSION, PeerRecord, read_record
from controlplane.base import logs
from controlplane.storage.api import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.ring import Change
from controlplane.storage.errors import Unreadable

__all__ = ["PeerRecords", "RecordChange"]

log = logs.get(__name__)

RecordChange = Callable[[PeerRecord | None, PeerRecord | None], None]
"""Hears of one server: its record before and after; None before: it has come, None after: it has gone."""


class PeerRecords:
    """``current``: the live servers by id, this one among them once it has written its record; ``peers``: the others;
    ``own_id`` is this server's. Views, changed on the loop.

    Refreshes that say nothing new are no change.
    """

    def __init__(self, mirror: Mirror, own_id: str) -> None:
        self.own_id = own_id
        self._records: dict[str, PeerRecord] = {}
        self._others: dict[str, PeerRecord] = {}
        self.current: Mapping[str, PeerRecord] = MappingProxyType(self._records)
        self.peers: Mapping[str, PeerRecord] = MappingProxyType(self._others)
        self._followers: list[RecordChange] = []
        self._closed = False
        self._mirror, self._storage = mirror, mirror.storage(PEER_RECORDS)
        self._stop = mirror.observe(PEER_RECORDS, self)

    def follow(self, changed: RecordChange) -> Callable[[], None]:
        """Tell of every change from now on, in the step that applies it; ``changed`` must not raise or wait. Returns
        how to stop."""
        self._followers.append(changed)
        return lambda: self._followers.remove(changed)

    def close(self) -> None:
        """Follow the mirror no more. Idempotent."""
        if not self._closed:
            self._closed = True
            self._stop()

    # Of the mirror's steps.

    def changed(self, change: Change) -> None:
        self._apply(change.key.rpartition(b"/")[2].decode(errors="replace"), change.entry)

    def step(self) -> None:
        """Each change was told already."""

    def replaced(self) -> None:
        entries = {self._storage.key_of(entry).name: entry for entry in self._mirror.entries(PEER_RECORDS)}
        for server in [*self._records, *entries]:
            self._apply(server, entries.get(server))

    def _apply(self, server: str, entry: Entry | None) -> None:
        new = self._read(server, entry) if entry is not None else None
        old = self._records.pop(server, None)
        self._others.pop(server, None)
        if new is not None:
            self._records[server] = new
            if server != self.own_id:
                self._others[server] = new
        if old != new:
            for follower in tuple(self._followers):
                follower(old, new)

    def _read(self, server: str, entry: Entry) -> PeerRecord | None:
        """None for one that cannot be read: there is nobody to be reached by it."""
        try:
            data = self._storage.served_nowait(entry, VERSION)
            record = None if data is None else read_record(server, loads(data))
        except (Unreadable, MalformedJSON) as error:
            log.warning("a peer's record cannot be read", server=server, error=error)
            return None
        if record is None:
            log.warning("a peer's record does not say where the server is", server=server)
        return record
