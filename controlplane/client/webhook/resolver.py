"""From a service to an address that can be dialled.

There are no services here; somebody who composes a control plane beside a cluster knows better than DNS.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["DNS", "Endpoint", "ServiceNotUsable", "ServiceResolver"]


class Endpoint(NamedTuple):
    """Where to connect to."""

    host: str
    port: int


class ServiceNotUsable(LookupError):
    """There is such a service, but not this port of it, or nothing behind it. ``reason``: in one word, as the condition
    of an API service says it (``ServicePortError``, ``EndpointsNotFound``, ``MissingEndpoints``)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ServiceResolver(Protocol):
    """Finds services. Called for every request, so it should remember what it knows."""

    async def resolve(self, namespace: str, name: str, port: int) -> Endpoint:
        """Where a service's port is reached.

        Raises:
            ServiceNotUsable: nothing behind it. LookupError: there is no such service. The message says which.
        """


class _DNS:
    """The name that services have in a cluster's DNS."""

    async def resolve(self, namespace: str, name: str, port: int) -> Endpoint:
        return Endpoint(f"{name}.{namespace}.svc", port)


DNS: ServiceResolver = _DNS()
