"""What the peer proxy is told."""

from __future__ import annotations

from dataclasses import field

from controlplane.base.live import LiveMapping
from controlplane.base.values import dataclass

__all__ = ["PeerProxyConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerProxyConfig:
    """``ca_file``: whose signature peers' serving certificates must have, PEM. ``proxy_cert_file``, ``proxy_key_file``:
    what this server shows to them, so that they believe whom it names.

    ``whole``: all forms of discovery and OpenAPI show what peers serve, too; else only aggregated discovery does.
    ``told``: the annotations of this server's record, for what it tells its peers.
    ``requests`` and ``streams``: how many ordinary requests, and watches, one peer is sent at a time.
    """

    ca_file: str
    proxy_cert_file: str
    proxy_key_file: str
    whole: bool = True
    told: LiveMapping = field(default_factory=LiveMapping)
    requests: int = 200
    streams: int = 2000
