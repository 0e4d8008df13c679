"""CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who may approve and sign certificate
requests of which signer, and that nobody gets into ``system:masters`` by one.

Source: kubernetes ``plugin/pkg/admission/certificates`` and ``pkg/certauthorization``.
"""

from __future__ import annotations

import base64

from controlplane.apimachinery.identity import GVR
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apis.certificates.requests import request_organizations
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation, refused
from controlplane.apiserver.authorization.api import Attributes as Question
from controlplane.apiserver.authorization.api import Authorizer, Decision
from controlplane.base import logs
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices

__all__ = ["APPROVAL", "SIGNING", "SUBJECT_RESTRICTION"]

log = logs.get(__name__)

_GROUP, _REQUESTS = "certificates.k8s.io", "certificatesigningrequests"
_REQUIRES = (f"{_REQUESTS}.{_GROUP}",)
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


def _of(subresource: str, resource: GVR, given: str) -> bool:
    return resource.group == _GROUP and resource.resource == _REQUESTS and given == subresource


async def _may(authorizer: Authorizer, user: UserInfo, verb: str, signer: str) -> bool:
    """Whether a user may do something with a signer: by its name, or by its domain's (``example.com/*``)."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        question = Question(user, verb, group=_GROUP, version="*", resource="signers", name=name)
        try:
            decision, _ = await authorizer.authorize(question)
        except Exception as error:  # noqa: BLE001  # as upstream: who cannot be asked has not allowed it
            log.warning("nobody could say whether a signer may be used", signer=name, verb=verb, error=error)
            return False
        if decision is Decision.ALLOW:
            return True
    return False


def _signer(attributes: Attributes) -> str:
    """The stored request's, which this path cannot change."""
    signer: str = ((attributes.old or {}).get("spec") or {}).get("signerName") or ""
    return signer


def _build_approval(services: PluginServices) -> Hooks:
    async def validate(attributes: Attributes) -> None:
        signer = _signer(attributes)
        if not await _may(services.authorizer, attributes.user, "approve", signer):
            raise refused(attributes, f'user not permitted to approve requests with signerName "{signer}"')

    return Hooks(
        operations=frozenset({Operation.UPDATE}),
        validate=validate,
        wants=lambda _operation, resource, subresource: _of("approval", resource, subresource),
    )


def _build_signing(services: PluginServices) -> Hooks:
    async def validate(attributes: Attributes) -> None:
        new, old = (((obj or {}).get("status") or {}) for obj in (attributes.obj, attributes.old))
        if all((new.get(name) or None) == (old.get(name) or None) for name in ("certificate", "conditions")):
            return
        signer = _signer(attributes)
        if not await _may(services.authorizer, attributes.user, "sign", signer):
            raise refused(attributes, f'user not permitted to sign requests with signerName "{signer}"')

    return Hooks(
        operations=frozenset({Operation.UPDATE}),
        validate=validate,
        wants=lambda _operation, resource, subresource: _of("status", resource, subresource),
    )


async def _validate_subject(attributes: Attributes) -> None:
    spec = (attributes.obj or {}).get("spec") or {}
    if spec.get("signerName") != _CLIENT_SIGNER:
        return
    try:
        organizations = request_organizations(base64.b64decode(spec.get("request") or ""))
    except ValueError as error:
        raise refused(attributes, f"failed to parse CSR: {error}") from error
    if MASTERS_GROUP in organizations:
        why = f"use of {_CLIENT_SIGNER} signer with {MASTERS_GROUP} group is not allowed"
        raise refused(attributes, why)


def _build_restriction(_services: PluginServices) -> Hooks:
    return Hooks(
        operations=frozenset({Operation.CREATE}),
        validate=_validate_subject,
        wants=lambda _operation, resource, subresource: _of("", resource, subresource),
    )


APPROVAL = AdmissionPlugin(name="CertificateApproval", default_on=True, build=_build_approval, requires=_REQUIRES)
SIGNING = AdmissionPlugin(name="CertificateSigning", default_on=True, build=_build_signing, requires=_REQUIRES)
SUBJECT_RESTRICTION = AdmissionPlugin(
    name="CertificateSubjectRestriction", default_on=True, build=_build_restriction, requires=_REQUIRES
)
