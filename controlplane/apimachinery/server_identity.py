"""Who a server is among those on one store: its id, and by what its identity lease is known.

All servers, controllers and peers take these values from here: kube-apiserver has them in several places, and its
sample disagrees with itself.

Source: kubernetes/apiserver ``pkg/server/config.go`` (form of the id), kubernetes ``pkg/controlplane/apiserver``
(labels, annotation). The id differs in what is hashed: see docs/decisions/0009-server-ids.md.
"""

from __future__ import annotations

import base64
import hashlib

__all__ = [
    "COMPONENT",
    "COMPONENT_LABEL",
    "ENCRYPTION_HASH_ANNOTATION",
    "HOSTNAME_LABEL",
    "IDENTITY_NAMESPACE",
    "IDENTITY_SELECTOR",
    "PEER_ADDRESS_ANNOTATION",
    "server_id",
]

COMPONENT = "kube-apiserver"
COMPONENT_LABEL = "apiserver.kubernetes.io/identity"
IDENTITY_SELECTOR = f"{COMPONENT_LABEL}={COMPONENT}"
"""Finds the identity leases of all servers."""

IDENTITY_NAMESPACE = "kube-system"
HOSTNAME_LABEL = "kubernetes.io/hostname"
PEER_ADDRESS_ANNOTATION = "kubernetes.io/peer-advertise-address"
"""``ip:port``, for people to read; whom to call is never taken from a lease, which users may write."""
ENCRYPTION_HASH_ANNOTATION = "controlplane.internal/encryption-config-hash"
"""On the identity lease: the hash of the encryption configuration that is in force, as in upstream's metric
``apiserver_encryption_config_controller_last_config_info``."""


def server_id(hostname: str, address: str) -> str:
    """``apiserver-`` and 26 letters and digits. ``address``: where the server is reached, ``host:port``; it tells
    servers on one host apart. The same after a restart, if host and address are."""
    hashed = hashlib.sha256(b"".join(map(_part, (hostname, COMPONENT, address)))).digest()
    return "apiserver-" + base64.b32encode(hashed[:16]).decode().rstrip("=").lower()


def _part(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded
