"""What the servers of a fleet prove themselves by: one folder of self-made keys, and the client certificate that they
show to each other, with the authority that has signed it."""

from __future__ import annotations

import time
from pathlib import Path

from controlplane.apiserver.options import PeerProxyOptions
from controlplane.base.tls.issue import issue_ca, issue_client, new_key
from controlplane.base.values import dataclass

__all__ = ["FleetFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFiles:
    """``directory``: everything lies in it. ``certs``: for ``--cert-dir`` of all servers."""

    directory: Path

    @classmethod
    def make(cls, directory: Path) -> FleetFiles:
        """Make the proxy's authority and certificate; the servers make the rest."""
        files = cls(directory=directory)
        ca_key, key, now = new_key(), new_key(), time.time()
        ca = issue_ca(ca_key, "fleet-proxy-ca", now)
        files.proxy_ca.write_bytes(ca)
        files.proxy_cert.write_bytes(issue_client(key, (ca, ca_key), ("fleet-proxy", ()), now))
        files.proxy_key.touch(0o600)
        files.proxy_key.write_bytes(key)
        return files

    @property
    def certs(self) -> Path:
        return self.directory / "certs"

    @property
    def proxy_ca(self) -> Path:
        return self.directory / "proxy-ca.crt"

    @property
    def proxy_cert(self) -> Path:
        return self.directory / "proxy.crt"

    @property
    def proxy_key(self) -> Path:
        return self.directory / "proxy.key"

    @property
    def serving_ca(self) -> Path:
        """The authority of the servers' certificates, which the first one makes."""
        return self.certs / "serving-ca.crt"

    def peer_options(self) -> PeerProxyOptions:
        """All of discovery is of all servers."""
        return PeerProxyOptions(ca_file=str(self.serving_ca), whole_discovery=True)

    def flags(self) -> tuple[str, ...]:
        """The same for servers that are processes: their keys, and the peer proxy."""
        return (
            f"--cert-dir={self.certs}",
            f"--peer-ca-file={self.serving_ca}",
            f"--proxy-client-cert-file={self.proxy_cert}",
            f"--proxy-client-key-file={self.proxy_key}",
            f"--requestheader-client-ca-file={self.proxy_ca}",
            "--requestheader-username-headers=X-Remote-User",
        )
