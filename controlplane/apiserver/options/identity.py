"""How the server tells others that it is there, and where its peers reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.apiserver.options.serving import is_ip_address
from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["IdentityOptions"]


class IdentityOptions(OptionGroup):
    """The server among others on the same store."""

    title: ClassVar[str] = "Identity and peers"

    lease: bool | None = option(
        None,
        description="keep a lease in kube-system that says that this server is there "
        "(default: as the feature gate APIServerIdentity, true)",
    )
    peer_record: bool | None = option(
        None,
        description="keep a record in a shared store by which servers find each other "
        "(default: as the feature gate UnknownVersionInteroperabilityProxy, true)",
    )
    peer_advertise_ip: str = option(
        "",
        flag="peer-advertise-ip",
        description="IP address at which other servers on the same store reach this one; empty is --advertise-address",
    )
    peer_advertise_port: int = option(
        0,
        flag="peer-advertise-port",
        ge=0,
        le=65535,
        description="port at which other servers on the same store reach this one; 0 is --secure-port",
    )

    def problems(self) -> Iterator[Problem]:
        if self.peer_advertise_ip and not is_ip_address(self.peer_advertise_ip):
            yield Problem("peer_advertise_ip", f"{self.peer_advertise_ip!r} is not an IP address")
