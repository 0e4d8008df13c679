"""How requests are treated: how long, how many at a time, and what happens to them at shutdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.base.options import Duration, OptionGroup, Problem, option

__all__ = ["CONNECTIONS", "CONNECTIONS_PER_USER", "WATCHES_PER_USER", "RequestOptions"]

WATCHES_PER_USER = 10_000
"""More than a controller manager opens with a thousand definitions."""

CONNECTIONS_PER_USER = 12_000
"""One for each watch, and some."""

CONNECTIONS = 20_000
"""About 1.2 GB of memory, if all of them are watches over TLS."""


class RequestOptions(OptionGroup):
    """Limits of requests, and the order of the shutdown."""

    title: ClassVar[str] = "Generic"

    request_timeout: Duration = option(
        60.0, flag="request-timeout", gt=0, description="longest duration of a request that is not long-running"
    )
    min_request_timeout: int = option(
        1800,
        flag="min-request-timeout",
        ge=1,
        description="seconds a watch lives at least, unless the client asks for less; at most it lives twice as long",
    )
    max_requests_inflight: int = option(
        400, flag="max-requests-inflight", ge=0, description="reading requests at a time; 0 is no limit"
    )
    max_mutating_requests_inflight: int = option(
        200, flag="max-mutating-requests-inflight", ge=0, description="changing requests at a time; 0 is no limit"
    )
    max_watches_per_user: int = option(
        WATCHES_PER_USER,
        flag="max-watches-per-user",
        ge=0,
        description="watches that a user may have open, but for members of system:masters; 0 is no limit",
    )
    max_connections: int = option(
        CONNECTIONS,
        flag="max-connections",
        ge=0,
        description="connections at a time, and never more than the process may open files; 0 is no other limit",
    )
    max_connections_per_address: int = option(
        0,
        flag="max-connections-per-address",
        ge=0,
        description="connections at a time from one address (IPv6: the first 64 bits); 0 is no limit",
    )
    max_connections_per_user: int = option(
        CONNECTIONS_PER_USER,
        flag="max-connections-per-user",
        ge=0,
        description="connections that a user may have open, but for members of system:masters; 0 is no limit",
    )
    livez_grace_period: Duration = option(
        0.0,
        flag="livez-grace-period",
        ge=0,
        description="how long after the start unfinished start-up does not fail /livez",
    )
    shutdown_delay_duration: Duration = option(
        0.0,
        flag="shutdown-delay-duration",
        ge=0,
        description="how long the server goes on serving after it has turned unready, so that load balancers notice",
    )
    shutdown_send_retry_after: bool = option(
        False,
        flag="shutdown-send-retry-after",
        description="while draining, keep listening and answer new requests with 429 and Retry-After",
    )
    goaway_chance: float = option(
        0.0, flag="goaway-chance", ge=0, le=0.02, description="not supported: it rebalances HTTP/2 connections"
    )

    def problems(self) -> Iterator[Problem]:
        if self.goaway_chance:
            yield Problem("goaway_chance", "is not supported: this server speaks HTTP/1.1, which has no GOAWAY")
