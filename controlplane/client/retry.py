"""Trying again when the server asks for it, alike on every carrier.

Source: behaviour of kubernetes/client-go ``rest`` (retry on 429 and 5xx with Retry-After, ten times).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.metrics import RequestMetrics
from controlplane.client.request import Response
from controlplane.client.results import retry_after_seconds

__all__ = ["DEFAULT_RETRIES", "send_with_retries"]

DEFAULT_RETRIES = 10
"""Further attempts after the first, as client-go's."""

log = logs.get(__name__)


async def send_with_retries(
    attempt: Callable[[], Awaitable[Response]], method: str, *, clock: Clock, retries: int, metrics: RequestMetrics
) -> Response:
    """Call ``attempt`` until its answer does not ask for another one, at most ``1 + retries`` times.

    Whatever ``attempt`` raises ends it: an unknown outcome is never repeated blindly.
    """
    for number in range(retries + 1):
        started = clock.monotonic()
        try:
            response = await attempt()
        except Exception:
            metrics.failed(method, clock.monotonic() - started, again=number > 0)
            raise
        metrics.answered(method, response, clock.monotonic() - started, again=number > 0)
        wait_seconds = retry_after_seconds(response)
        if wait_seconds is None or number == retries:
            return response
        log.debug("server asks to try again", method=method, status=response.status, wait_seconds=wait_seconds)
        await clock.sleep(wait_seconds)
    raise AssertionError("unreachable: the last attempt returns")
