"""Signs certificate requests that have been approved, for the signers of Kubernetes' own.

Source: behaviour of kubernetes ``pkg/controller/certificates/signer``.
"""

from __future__ import annotations

import asyncio
import base64

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.resources import ResourceClient
from controlplane.controllers.certificates.policy import SIGNERS, refusal
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.keys import CertificateAuthority
from controlplane.reconcile.controller import Controller, Terminal, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["ACCOUNT", "DESCRIPTOR", "REQUESTS", "condition", "decided"]

NAME = "certificate-signing"
ACCOUNT = "certificate-controller"
REQUESTS = GVR("certificates.k8s.io", "v1", "certificatesigningrequests")
LONGEST_SECONDS = 365 * 24 * 3600
SHORTEST_SECONDS = 600
"""Of a certificate: upstream's default of ``--cluster-signing-duration``, and the least that may be asked for."""

log = logs.get(__name__)


def condition(request: Obj, kind: str) -> Obj | None:
    """A request's condition of a type."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == kind), None)


def decided(request: Obj) -> str:
    """``Denied`` before ``Approved`` before ``""``."""
    return next((kind for kind in ("Denied", "Approved") if condition(request, kind) is not None), "")


class Signer:
    """``reconcile`` works on one request."""

    def __init__(
        self, requests: ResourceClient, informer: Informer, authority: CertificateAuthority, clock: Clock
    ) -> None:
        self._requests, self._known = requests, informer
        self._authority, self._clock = authority, clock

    async def reconcile(self, key: Key) -> None:
        """Sign a request that was approved and has no certificate; say so if its signer refuses it.

        Raises:
            Terminal: the authority cannot sign.
        """
        request = self._known.store.get(key)
        if request is None or (request.get("status") or {}).get("certificate"):
            return
        signer = request["spec"]["signerName"]
        failed = (condition(request, "Failed") or {}).get("status") == "True"
        if signer not in SIGNERS or decided(request) != "Approved" or failed:
            return
        changed = await asyncio.get_running_loop().run_in_executor(None, self._signed, request)
        await self._requests.update_status(changed)

    def _signed(self, request: Obj) -> Obj:
        """The request with its certificate, or with its failure. Blocks for some milliseconds."""
        from controlplane.base.tls.sign import sign_request  # heavy, and needed by requests alone

        spec, status = request["spec"], request.get("status") or {}
        pem, usages = base64.b64decode(spec["request"]), spec.get("usages") or ()
        why = refusal(spec["signerName"], pem, usages)
        if why:
            failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why}
            return {**request, "status": {**status, "conditions": [*status.get("conditions", ()), failed]}}
        asked = spec.get("expirationSeconds")
        seconds = LONGEST_SECONDS if asked is None else min(max(asked, SHORTEST_SECONDS), LONGEST_SECONDS)
        try:
            certificate = sign_request(
                pem, self._authority(), usages=usages, seconds=seconds, now_seconds=self._clock.now()
            )
        except (OSError, ValueError) as error:
            raise Terminal(f"error auto signing csr: {error}") from error
        return {**request, "status": {**status, "certificate": base64.b64encode(certificate).decode()}}


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching certificate signing requests."""
    informer = context.informers.get(REQUESTS, namespaced=False)
    client = ResourceClient(context.client_for(NAME), REQUESTS, namespaced=False)
    assert context.keys.authority is not None, "the descriptor's ``usable`` was not asked"
    signer = Signer(client, informer, context.keys.authority, context.clock)
    return Controller(NAME, watches=[Watch(informer, own_key)], reconcile=signer.reconcile, clock=context.clock)


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(REQUESTS.gr,),
    usable=lambda keys: keys.authority is not None,
    account=ACCOUNT,
    rules=(
        PolicyRule(("delete", "get", "list", "watch"), ("certificates.k8s.io",), ("certificatesigningrequests",)),
        PolicyRule(
            ("update",),
            ("certificates.k8s.io",),
            ("certificatesigningrequests/approval", "certificatesigningrequests/status"),
        ),
        PolicyRule(
            ("approve",),
            ("certificates.k8s.io",),
            ("signers",),
            ("kubernetes.io/kube-apiserver-client-kubelet",),
        ),
        PolicyRule(("sign",), ("certificates.k8s.io",), ("signers",), tuple(sorted(SIGNERS))),
        PolicyRule(("create",), ("authorization.k8s.io",), ("subjectaccessreviews",)),
        PolicyRule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)),
    ),
)
