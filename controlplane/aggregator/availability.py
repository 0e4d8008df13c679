"""Whether what others serve can be reached, told in the condition Available of each API service.

Source: kubernetes/kube-aggregator ``pkg/controllers/status`` (local and remote): reasons and texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from controlplane.aggregator.backoff import Backoff
from controlplane.aggregator.metrics import UNAVAILABLE, UNAVAILABLE_TOTAL
from controlplane.aggregator.registration import AVAILABLE, Backend, Registration, condition_of
from controlplane.aggregator.transport import BackendTransport, NotResolved
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.base.clock import Clock, rfc3339
from controlplane.base.tasks import TaskGroup
from controlplane.client.forward.head import header_lines
from controlplane.client.forward.identity import identity_headers
from controlplane.client.forward.transport import NotTrusted, Unanswered
from controlplane.client.resources import ResourceClient
from controlplane.client.webhook import Endpoint, ServiceNotUsable
from controlplane.reconcile.controller import Result

__all__ = ["AGGREGATOR", "LocalAvailability", "RemoteAvailability"]

AGGREGATOR = UserInfo(name="system:kube-aggregator", groups=(MASTERS_GROUP,))
"""Who asks the other servers, so that the answer does not depend on what somebody may."""
ATTEMPTS = 5
"""At once; one that succeeds is enough."""
ATTEMPT_SECONDS = 5.0
FIRST_SECONDS, LONGEST_SECONDS = 0.005, 30.0
"""Between one failure and the next attempt."""

Registrations = Callable[[], Mapping[str, Registration]]


class _Verdict(NamedTuple):
    """What the condition is to say."""

    status: str
    reason: str
    message: str


_LOCAL = _Verdict("True", "Local", "Local APIServices are always available")
_PASSED = _Verdict("True", "Passed", "all checks passed")


class _Writer:
    """Writes the condition where it says something else."""

    def __init__(self, client: ResourceClient, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def write(self, registration: Registration, verdict: _Verdict) -> None:
        """Raises APIError: it could not be written, as when the object has changed."""
        UNAVAILABLE.labels_cached((registration.name,)).set(0 if verdict.status == "True" else 1)
        obj, old = registration.obj, condition_of(registration.obj)
        if old is not None and (old.get("status"), old.get("reason"), old.get("message")) == verdict:
            return
        since = old.get("lastTransitionTime") if old is not None and old.get("status") == verdict.status else None
        new = {
            "type": AVAILABLE,
            "status": verdict.status,
            "lastTransitionTime": since or rfc3339(self._clock.now()),
            "reason": verdict.reason,
            "message": verdict.message,
        }
        status: Obj = obj.get("status") or {}
        conditions = [one for one in status.get("conditions") or () if one.get("type") != AVAILABLE]
        await self._client.update_status({**obj, "status": {**status, "conditions": [*conditions, new]}})
        if registration.available and verdict.status != "True":
            UNAVAILABLE_TOTAL.labels_cached((registration.name, verdict.reason)).inc()


class LocalAvailability:
    """``reconcile`` says of an API service without a service that it is available."""

    def __init__(self, client: ResourceClient, registrations: Registrations, clock: Clock) -> None:
        self._writer, self._registrations = _Writer(client, clock), registrations

    async def reconcile(self, name: str) -> None:
        """Raises APIError."""
        registration = self._registrations().get(name)
        if registration is None:
            UNAVAILABLE.remove((name,))
        elif registration.backend is None:
            await self._writer.write(registration, _LOCAL)


class RemoteAvailability:
    """``reconcile`` tries one service and says what came of it."""

    def __init__(
        self, client: ResourceClient, registrations: Registrations, transport: BackendTransport, clock: Clock
    ) -> None:
        self._writer, self._registrations, self._transport = _Writer(client, clock), registrations, transport
        self._backoff = Backoff[str](FIRST_SECONDS, LONGEST_SECONDS)

    async def reconcile(self, name: str) -> Result | None:
        """Raises APIError."""
        registration = self._registrations().get(name)
        if registration is None or registration.backend is None:
            self._backoff.forget(name)
            return None
        verdict = await self._judge(registration.path, registration.backend)
        if self._registrations().get(name) is not registration:
            return None  # it has changed meanwhile, which brings the next call
        await self._writer.write(registration, verdict)
        if verdict.status == "True":
            self._backoff.forget(name)
            return None
        return Result(requeue_after=self._backoff.failed(name))

    async def _judge(self, path: str, backend: Backend) -> _Verdict:
        try:
            endpoint = await self._transport.resolve(backend)
            await self._transport.context(backend)
        except NotResolved as error:
            return _unresolved(backend, error)
        except NotTrusted as error:
            return _Verdict("False", "FailedDiscoveryCheck", str(error))
        last: str | None = ""
        async with TaskGroup("probes") as group:
            attempts = [group.start(self._attempt(path, backend, endpoint), name="probe") for _ in range(ATTEMPTS)]
            for attempt in asyncio.as_completed(attempts):
                last = await attempt
                if last is None:
                    return _PASSED
        return _Verdict("False", "FailedDiscoveryCheck", last or "")

    async def _attempt(self, path: str, backend: Backend, endpoint: Endpoint) -> str | None:
        """Why the service is not well; None if it is."""
        url = f"https://{endpoint.host}:{endpoint.port}{path}"
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                headers = identity_headers(AGGREGATOR)
                async with await self._transport.send(
                    backend, endpoint, "GET", path, lines=header_lines(headers.items())
                ) as answer:
                    if 200 <= answer.status < 300:
                        await answer.read()
                        return None
                    why = f"bad status from {url}: {answer.status}"
        except (Unanswered, NotTrusted) as error:
            why = f'Get "{url}": {error}'
        except TimeoutError:
            why = f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        return f"failing or missing response from {url}: {why}"


def _unresolved(backend: Backend, error: NotResolved) -> _Verdict:
    cause = error.__cause__
    if isinstance(cause, ServiceNotUsable):
        return _Verdict("False", cause.reason, str(error))
    if isinstance(cause, LookupError):
        text = f'service/{backend.name} in "{backend.namespace}" is not present'
        return _Verdict("False", "ServiceNotFound", text)
    text = f'service/{backend.name} in "{backend.namespace}" cannot be checked due to: {error}'
    return _Verdict("Unknown", "ServiceAccessError", text)
