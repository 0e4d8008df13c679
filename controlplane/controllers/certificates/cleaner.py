"""Removes certificate signing requests that are done, forgotten, or whose certificate has expired.

Source: behaviour and times of kubernetes ``pkg/controller/certificates/cleaner``.
"""

from __future__ import annotations

import base64

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tls.der import read_certificate
from controlplane.client.resources import ResourceClient
from controlplane.controllers.certificates.signer import ACCOUNT, REQUESTS, condition
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Resync, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "certificate-cleaner"
ROUND_SECONDS = 3600.0
APPROVED_SECONDS = DENIED_SECONDS = 3600
PENDING_SECONDS = 24 * 3600

log = logs.get(__name__)


class Cleaner:
    """``reconcile`` works on one request."""

    def __init__(self, requests: ResourceClient, informer: Informer, clock: Clock) -> None:
        self._requests, self._known, self._clock = requests, informer, clock

    async def reconcile(self, key: Key) -> None:
        """Delete the request if its time is over."""
        request = self._known.store.get(key)
        if request is None:
            return
        why = over(request, self._clock.now())
        if not why:
            return
        log.info("removing a certificate signing request", request=key.name, why=why)
        try:
            await self._requests.delete(key, uid=meta.uid(request))
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):
                raise


def over(request: Obj, now: float) -> str:
    """Why a request is to be removed at this time (seconds since 1970); ``""`` if it is to be kept."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    certificate = (request.get("status") or {}).get("certificate")
    for kind, seconds in (("Denied", DENIED_SECONDS), ("Failed", DENIED_SECONDS), ("Approved", APPROVED_SECONDS)):
        found = condition(request, kind)
        if found is not None and _age(found.get("lastUpdateTime"), now) > seconds:
            return f"{kind.lower()} more than {seconds} s ago"
    if not conditions and _age(meta.creation_timestamp(request), now) > PENDING_SECONDS:
        return f"nobody decided for {PENDING_SECONDS} s"
    if certificate and _expired(certificate, now):
        return "its certificate has expired"
    return ""


def _age(time: str | None, now: float) -> float:
    return now - meta.parse_time(time).timestamp() if time else 0.0


def _expired(certificate: str, now: float) -> bool:
    """Whether the first certificate of a chain (PEM in base64) has ended; one that cannot be read has not."""
    pem = base64.b64decode(certificate).decode(errors="replace")
    body = pem.partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END CERTIFICATE-----")[0]
    try:
        return read_certificate(base64.b64decode(body)).not_after < now
    except ValueError:
        return False


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, which looks at all requests once an hour."""
    informer = context.informers.get(REQUESTS, namespaced=False)
    client = ResourceClient(context.client_for(NAME), REQUESTS, namespaced=False)

    def nothing(_old: Obj | None, _new: Obj | None) -> tuple[Key, ...]:
        return ()

    return Controller(
        NAME,
        watches=[Watch(informer, nothing)],
        reconcile=Cleaner(client, informer, context.clock).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: [meta.key_of(request) for request in informer.store]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(name=NAME, build=build, needs=(REQUESTS.gr,), account=ACCOUNT)
