import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from tests.aio import run
from tests.unit.apiserver.plane import Answer, Plane, running_plane

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
MERGE = {"Content-Type": "application/merge-patch+json"}
NOBODY, ONE, DOMAIN = UserInfo(name="nobody"), UserInfo(name="one"), UserInfo(name="domain")


class Signers:
    """Who may approve and sign: ``one`` by the signer's name, ``domain`` by its domain, ``tester`` all."""

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        names = {"one": "example.com/s", "domain": "example.com/*", "tester": attributes.name}
        if attributes.resource != "signers" or names.get(attributes.user.name) == attributes.name:
            return Decision.ALLOW, ""
        return Decision.NO_OPINION, ""


def request_pem(organization: str) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)])
    key = ec.generate_private_key(ec.SECP256R1())
    csr = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(csr.public_bytes(serialization.Encoding.PEM)).decode()


async def ask(plane: Plane, name: str, signer: str = "example.com/s", organization: str = "dev") -> Answer:
    spec = {"request": request_pem(organization), "signerName": signer, "usages": ["client auth"]}
    return await plane.call("POST", REQUESTS, {"metadata": {"name": name}, "spec": spec})


def condition(kind: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": "True", "reason": "r", "message": "m"}]}}


@pytest.mark.parametrize(("user", "status"), [(NOBODY, 403), (ONE, 200), (DOMAIN, 200)], ids=lambda v: str(v)[:20])
def test_who_may_not_use_a_signer_approves_and_signs_nothing(user: UserInfo, status: int) -> None:
    async def scenario() -> None:
        async with running_plane(authorizer=Signers()) as plane:
            for subresource, kind, verb in (("approval", "Approved", "approve"), ("status", "Failed", "sign")):
                name = f"to-{verb}"
                assert (await ask(plane, name)).status == 201
                path = f"{REQUESTS}/{name}/{subresource}"
                answer = await plane.call("PATCH", path, condition(kind), headers=MERGE, user=user)
                if status == 403:
                    assert answer.message == (
                        f'certificatesigningrequests.certificates.k8s.io "{name}" is forbidden: user not permitted to '
                        f'{verb} requests with signerName "example.com/s"'
                    )
                assert (answer.status, subresource) == (status, subresource)

    run(scenario())


def test_nobody_gets_into_the_masters_by_a_certificate() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            refused = await ask(plane, "c", "kubernetes.io/kube-apiserver-client", "system:masters")
            assert refused.status == 403
            assert refused.message.endswith(
                "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
            )
            assert (await ask(plane, "d", "kubernetes.io/kube-apiserver-client")).status == 201
            assert (await ask(plane, "e", "example.com/s", "system:masters")).status == 201

    run(scenario())
