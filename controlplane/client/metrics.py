"""The clients' metrics, by Kubernetes' names (kubernetes/component-base ``metrics/prometheus/restclient``).

``host`` is the server's address, or ``loopback``.
"""

from __future__ import annotations

from controlplane.base import metrics
from controlplane.client.request import Response

__all__ = ["RequestMetrics"]

_REQUESTS = metrics.counter(
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    labels=("code", "method", "host"),
    stability=metrics.BETA,
)
_RETRIES = metrics.counter(
    "rest_client_request_retries_total",
    "Number of request retries, partitioned by status code, verb, and host.",
    labels=("code", "verb", "host"),
)
_DURATION = metrics.histogram(
    "rest_client_request_duration_seconds",
    "Request latency in seconds. Broken down by verb, and host.",
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
    labels=("verb", "host"),
    stability=metrics.BETA,
)


class RequestMetrics:
    """Counts one client's requests."""

    __slots__ = ("_host",)

    def __init__(self, host: str) -> None:
        self._host = host

    def answered(self, method: str, response: Response, seconds: float, *, again: bool) -> None:
        """An answer came after ``seconds``; ``again``: it was not the first attempt."""
        self._count(str(response.status), method, seconds, again=again)

    def failed(self, method: str, seconds: float, *, again: bool) -> None:
        """No answer came: counted under the code ``<error>``, as client-go does."""
        self._count("<error>", method, seconds, again=again)

    def _count(self, code: str, method: str, seconds: float, *, again: bool) -> None:
        _REQUESTS.labels_cached((code, method, self._host)).inc()
        _DURATION.labels_cached((method, self._host)).observe(seconds)
        if again:
            _RETRIES.labels_cached((code, method, self._host)).inc()
