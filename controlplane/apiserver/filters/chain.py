"""The filters that every request passes, in one visible order.

An embedding program changes the order by building another tuple: ``insert_before(FILTERS, "authorization", mine)``.

Source: the order of kubernetes/apiserver ``pkg/server/config.go`` (DefaultBuildHandlerChain).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NamedTuple

from controlplane.apiserver.authentication.api import Authenticator
from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS, IdentityHeaders
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.filters.access_log import with_access_log
from controlplane.apiserver.filters.audit_id import with_audit_id
from controlplane.apiserver.filters.authentication import with_authentication
from controlplane.apiserver.filters.authorization import with_authorization
from controlplane.apiserver.filters.cors import with_cors
from controlplane.apiserver.filters.deadline import with_deadline
from controlplane.apiserver.filters.drain import DrainGate, with_drain_gate, with_retry_after
from controlplane.apiserver.filters.errors import with_status_errors
from controlplane.apiserver.filters.impersonation import with_impersonation
from controlplane.apiserver.filters.max_connections import with_max_connections
from controlplane.apiserver.filters.max_in_flight import with_max_in_flight
from controlplane.apiserver.filters.max_watches import with_max_watches
from controlplane.apiserver.filters.monitor import with_metrics
from controlplane.apiserver.filters.panics import with_panic_recovery
from controlplane.apiserver.filters.request_info import with_request_info
from controlplane.apiserver.filters.response_headers import with_cache_control, with_hsts
from controlplane.apiserver.filters.storage_versions import StorageVersionBarrier, with_storage_version_barrier
from controlplane.apiserver.filters.warnings import with_warnings
from controlplane.base.values import dataclass
from controlplane.client.request import Handler
from controlplane.client.request_info import RequestInfo

__all__ = ["FILTERS", "Filter", "FilterConfig", "build_chain", "insert_before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterConfig:
    """What filters are told.

    ``identity_headers``: what front proxies send, besides the standard ones. ``serves``: whether a resource request
    names something that exists (for metric labels). ``request_seconds``: the longest an ordinary request may take.
    ``reading`` and ``changing``: how many ordinary requests at a time; ``watches_per_user`` and
    ``connections_per_user``; 0 is no limit.
    ``barrier``: what writes wait for at the start, None for nothing.
    """

    authenticator: Authenticator
    authorizer: Authorizer
    serves: Callable[[RequestInfo], bool]
    identity_headers: IdentityHeaders = STANDARD_HEADERS
    gate: DrainGate = field(default_factory=DrainGate)
    request_seconds: float = 60.0
    reading: int = 400
    changing: int = 200
    watches_per_user: int = 0
    connections_per_user: int = 0
    send_retry_after: bool = False
    hsts_directives: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    barrier: StorageVersionBarrier | None = None


class Filter(NamedTuple):
    """One filter: what it is called, and how it is put around what follows."""

    name: str
    wrap: Callable[[Handler, FilterConfig], Handler]


def _authentication(following: Handler, config: FilterConfig) -> Handler:
    return with_authentication(following, authenticator=config.authenticator, headers=config.identity_headers)


FILTERS: tuple[Filter, ...] = (
    Filter("audit-id", lambda following, _: with_audit_id(following)),
    Filter("panic-recovery", lambda following, _: with_panic_recovery(following)),
    Filter("request-info", lambda following, _: with_request_info(following)),
    Filter("metrics", lambda following, c: with_metrics(following, serves=c.serves)),
    Filter("access-log", lambda following, _: with_access_log(following)),
    Filter("retry-after", lambda following, c: with_retry_after(following, gate=c.gate, enabled=c.send_retry_after)),
    Filter("hsts", lambda following, c: with_hsts(following, directives=c.hsts_directives)),
    Filter("cache-control", lambda following, _: with_cache_control(following)),
    Filter("warnings", lambda following, _: with_warnings(following)),
    Filter("cors", lambda following, c: with_cors(following, origins=c.cors_origins)),
    Filter("status-errors", lambda following, _: with_status_errors(following)),
    Filter("drain-gate", lambda following, c: with_drain_gate(following, gate=c.gate)),
    Filter("deadline", lambda following, c: with_deadline(following, seconds=c.request_seconds)),
    Filter("authentication", _authentication),
    Filter("max-connections", lambda following, c: with_max_connections(following, per_user=c.connections_per_user)),
    Filter("impersonation", lambda following, c: with_impersonation(following, authorizer=c.authorizer)),
    Filter("max-in-flight", lambda following, c: with_max_in_flight(following, reading=c.reading, changing=c.changing)),
    Filter("max-watches", lambda following, c: with_max_watches(following, per_user=c.watches_per_user)),
    Filter("authorization", lambda following, c: with_authorization(following, authorizer=c.authorizer)),
    Filter("storage-versions", lambda following, c: with_storage_version_barrier(following, barrier=c.barrier)),
)
"""Outermost first."""


def build_chain(handler: Handler, config: FilterConfig, filters: Sequence[Filter] = FILTERS) -> Handler:
    """``handler`` behind the filters."""
    for one in reversed(filters):
        handler = one.wrap(handler, config)
    return handler


def insert_before(filters: Sequence[Filter], name: str, *added: Filter) -> tuple[Filter, ...]:
    """The filters with others put directly outside of the one called ``name``.

    Raises:
        ValueError: there is none of that name, or a name would occur twice.
    """
    names = [one.name for one in filters]
    if name not in names:
        raise ValueError(f"no filter is called {name!r}; known: {', '.join(names)}")
    at = names.index(name)
    result = (*filters[:at], *added, *filters[at:])
    doubles = {one.name for one in result if [other.name for other in result].count(one.name) > 1}
    if doubles:
        raise ValueError(f"filters occur twice: {', '.join(sorted(doubles))}")
    return result
