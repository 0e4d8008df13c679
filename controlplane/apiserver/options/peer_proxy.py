"""Servers of other versions on the same store: whether requests are sent on to them, and how they prove themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.apiserver.options.serving import is_ip_address
from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["PeerProxyOptions", "split_address"]


class PeerProxyOptions(OptionGroup):
    """The peer proxy: what this server does not serve is answered by another server on the same store that does."""

    title: ClassVar[str] = "Peer proxy"

    enabled: bool | None = option(
        None,
        flag="peer-proxy",
        description="send requests for what is not served here to peers that serve it (default: where --peer-ca-file "
        "is given); without files of its own it works with self-made ones in --cert-dir, the same on all servers",
    )
    ca_file: str = option(
        "",
        flag="peer-ca-file",
        description="authority of the serving certificates of other servers on the same store, PEM; they must name "
        "kubernetes.default.svc",
    )
    bind_address: str = option(
        "",
        flag="peer-bind-address",
        description="IP:PORT to listen on for peers, beside --bind-address and --secure-port; it is advertised to them",
    )
    whole_discovery: bool = option(
        False,
        flag="peer-proxy-whole-discovery",
        description="show what peers serve in all forms of discovery, in /api and in OpenAPI, not in aggregated "
        "discovery of /apis alone",
    )

    @property
    def on(self) -> bool:
        """Whether there is a peer proxy."""
        return bool(self.ca_file) if self.enabled is None else self.enabled

    def problems(self) -> Iterator[Problem]:
        if self.enabled is False and self.ca_file:
            yield Problem("ca_file", "--peer-ca-file says with whom, --peer-proxy=false that there is none")
        if self.bind_address:
            if not self.on:
                yield Problem("bind_address", "--peer-bind-address needs --peer-proxy or --peer-ca-file")
            if split_address(self.bind_address) is None:
                yield Problem("bind_address", f"{self.bind_address!r} is not IP:PORT")


def split_address(text: str) -> tuple[str, int] | None:
    """The two parts of ``IP:PORT`` (``[IP]:PORT`` for version 6); None if it is not one."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not is_ip_address(host) or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host, int(port)
