"""The metrics of the peer proxy, under Kubernetes' names (kubernetes/apiserver ``pkg/util/peerproxy/metrics``) where it
has them."""

from __future__ import annotations

from controlplane.base.metrics import CounterChild, counter, gauge
from controlplane.client.request_info import RequestInfo

__all__ = ["IN_FLIGHT", "PEERS", "PROXY_ERRORS", "REFUSED", "SYNC_ERRORS", "Rerouted", "gvr_labels"]

ENDPOINT_RESOLUTION, PROXY_TRANSPORT = "endpoint_resolution", "proxy_transport"
HOSTPORT_RESOLUTION, FETCH_DISCOVERY = "hostport_resolution", "fetch_discovery"

REROUTED = counter(
    "apiserver_rerouted_request_total",
    "Total number of requests that were proxied to a peer kube-apiserver because the local apiserver was not capable of"
    " serving it, broken down by 'group', 'version', and 'resource' indicating the GVR of the request. If all three are"
    ' empty (""), the request is a discovery request.',
    labels=("code", "group", "version", "resource"),
)
PROXY_ERRORS = counter(
    "apiserver_peer_proxy_errors_total",
    "Total number of errors encountered while proxying requests to a peer kube apiserver",
    labels=("type", "group", "version", "resource"),
)
SYNC_ERRORS = counter(
    "apiserver_peer_discovery_sync_errors_total",
    "Total number of errors encountered while syncing discovery information from a peer kube-apiserver",
    labels=("type",),
)
IN_FLIGHT = gauge(
    "controlplane_peer_proxy_inflight", "Requests and streams that are under way to peers.", labels=("kind",)
)
PEERS = gauge(
    "controlplane_peer_proxy_peers",
    "Live peers by what is known of them: heard (they have said what they serve), stale (they had, and cannot be asked "
    "now), unheard (they have not, so all that is unknown is answered 503).",
    labels=("state",),
)
REFUSED = counter(
    "controlplane_peer_proxy_refused_total",
    "Requests that were not sent on, by why: overload (the peer has as many of ours as it may), proxied (a peer has "
    "sent it on), unsynced (not all peers have been heard).",
    labels=("reason",),
)


class Rerouted:
    """Counts the answers of peers to requests for one resource. ``labels``: its group, version and resource."""

    __slots__ = ("_by_status", "labels")

    def __init__(self, labels: tuple[str, str, str]) -> None:
        self.labels = labels
        self._by_status: dict[int, CounterChild] = {}

    def inc(self, status: int) -> None:
        child = self._by_status.get(status)
        if child is None:
            child = self._by_status[status] = REROUTED.labels_cached((str(status), *self.labels))
        child.inc()


def gvr_labels(info: RequestInfo) -> tuple[str, str, str]:
    """Group, version and resource of what a peer is known to serve; empty for discovery."""
    return (info.group, info.version, info.resource) if info.is_resource else ("", "", "")
