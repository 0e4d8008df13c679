"""How a server says to others that it is there."""

from __future__ import annotations

from dataclasses import field

from controlplane.base.live import LiveMapping
from controlplane.base.values import dataclass

__all__ = ["IdentityConfig", "ServerIdentity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """``lease``: write the identity lease; ``peer_record``: write the record that peers go by, on a store that can be
    shared. ``server_id``: by default made of host name and address. ``advertise_ip``, ``advertise_port``: where peers
    reach this server, by default (``""``, 0) where clients do.

    ``lease_annotations`` and ``record_annotations`` are written with the lease and the record, again as soon as they
    change: a part of the program that has something to tell its peers sets it here.
    """

    lease: bool = True
    peer_record: bool = True
    server_id: str = ""
    advertise_ip: str = ""
    advertise_port: int = 0
    lease_annotations: LiveMapping = field(default_factory=LiveMapping)
    record_annotations: LiveMapping = field(default_factory=LiveMapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """One server from its start to its end. ``id`` outlives a restart, ``holder`` does not. ``peer_ip`` and
    ``peer_port``: where peers reach it."""

    id: str
    holder: str
    hostname: str
    peer_ip: str
    peer_port: int

    @property
    def peer_address(self) -> str:
        return f"[{self.peer_ip}]:{self.peer_port}" if ":" in self.peer_ip else f"{self.peer_ip}:{self.peer_port}"
