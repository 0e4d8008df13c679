"""Who the server is, from its config and the port that it has."""

from __future__ import annotations

import socket
import uuid

from controlplane.apimachinery.server_identity import server_id
from controlplane.apiserver.identity.config import ServerIdentity
from controlplane.generic.config import CompletedConfig

__all__ = ["identity_of", "keeps_lease"]

_ANY_ADDRESS = {"0.0.0.0": ("192.0.2.1", "127.0.0.1"), "::": ("2001:db8::1", "::1")}  # noqa: S104
"""Where the server listens everywhere: an address of documentation, which only the default route leads to; and what is
left on a machine without one."""


def identity_of(config: CompletedConfig, port: int) -> ServerIdentity:
    """The server's identity, with a holder of its own for this start. ``port``: where it listens."""
    told = config.identity
    hostname = socket.gethostname()
    host = _reachable(config.advertise_address or config.host)
    own = told.server_id or server_id(hostname, f"{host}:{port}")
    return ServerIdentity(
        id=own,
        holder=f"{own}_{uuid.uuid4()}",
        hostname=hostname,
        peer_ip=told.advertise_ip or host,
        peer_port=told.advertise_port or port,
    )


_LEASE_NEEDS = frozenset({("coordination.k8s.io", "leases"), ("", "namespaces")})


def keeps_lease(config: CompletedConfig) -> bool:
    """Whether the server has an identity lease: it is wanted, and there are leases, in namespaces."""
    return config.identity.lease and _LEASE_NEEDS.issubset({tuple(resource.gr) for resource in config.resources})


def _reachable(host: str) -> str:
    """``host``, or for all addresses the one by which this machine reaches others, as kube-apiserver takes it. Nothing
    is sent to find it."""
    if host not in _ANY_ADDRESS:
        return host
    outside, alone = _ANY_ADDRESS[host]
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((outside, 9))
        except OSError:
            return alone
        address: str = probe.getsockname()[0]
        return address
