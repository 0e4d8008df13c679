"""Approves the client certificates of nodes' agents, where whoever asks may ask for them.

Source: behaviour and texts of kubernetes ``pkg/controller/certificates/approver``.
"""

from __future__ import annotations

import base64
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Key, Obj
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient
from controlplane.client.results import object_of, raise_for_status
from controlplane.controllers.certificates.policy import common_name, refusal
from controlplane.controllers.certificates.signer import ACCOUNT, REQUESTS, decided
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Result, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "certificate-approval"
SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_LOOK_AGAIN_SECONDS = (1.0, 1000.0)
"""Whoever asks may be allowed to later: looked at again after a quarter of the time that it has been waiting, within
these. 1,000 s is upstream's longest pause."""

log = logs.get(__name__)


class Approver:
    """``reconcile`` works on one request."""

    def __init__(self, client: APIClient, informer: Informer, clock: Clock) -> None:
        self._client, self._known, self._clock = client, informer.store, clock
        self._requests = ResourceClient(client, REQUESTS, namespaced=False)

    async def reconcile(self, key: Key) -> Result | None:
        """Approve a request that is a node's and that its user may make."""
        request = self._known.get(key)
        if request is None or decided(request) or (request.get("status") or {}).get("certificate"):
            return None
        spec = request["spec"]
        pem = base64.b64decode(spec["request"])
        if spec["signerName"] != SIGNER or refusal(SIGNER, pem, spec.get("usages") or ()):
            return None
        kinds = [("nodeclient", "kubelet client certificate")]
        if spec.get("username") == common_name(pem):
            kinds.insert(0, ("selfnodeclient", "self kubelet client certificate"))
        for subresource, what in kinds:
            if await self._may(spec, subresource):
                await self._approve(request, f"Auto approving {what} after SubjectAccessReview.")
                return None
        log.debug("a node's request is left to others to decide", request=key.name, user=spec.get("username"))
        waiting = self._clock.now() - meta.parse_time(meta.creation_timestamp(request)).timestamp()
        shortest, longest = _LOOK_AGAIN_SECONDS
        return Result(min(max(waiting / 4, shortest), longest))

    async def _may(self, spec: Obj, subresource: str) -> bool:
        attributes = {
            "group": "certificates.k8s.io",
            "version": "*",
            "resource": "certificatesigningrequests",
            "subresource": subresource,
            "verb": "create",
        }
        user: dict[str, Any] = {"user": spec.get("username") or "", "groups": spec.get("groups") or []}
        user |= {name: spec[name] for name in ("uid", "extra") if spec.get(name)}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {**user, "resourceAttributes": attributes},
        }
        response = await self._client.request("POST", REVIEWS, body=dumps(review))
        raise_for_status(response, "POST")
        return bool((object_of(response).get("status") or {}).get("allowed"))

    async def _approve(self, request: Obj, message: str) -> None:
        status = request.get("status") or {}
        approved = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        conditions = [*(status.get("conditions") or ()), approved]
        await self._requests.update({**request, "status": {**status, "conditions": conditions}}, subresource="approval")


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching certificate signing requests."""
    informer = context.informers.get(REQUESTS, namespaced=False)
    approver = Approver(context.client_for(NAME), informer, context.clock)
    return Controller(NAME, watches=[Watch(informer, own_key)], reconcile=approver.reconcile, clock=context.clock)


DESCRIPTOR = ControllerDescriptor(name=NAME, build=build, needs=(REQUESTS.gr,), account=ACCOUNT)
