"""The small controllers in a whole plane: what every namespace has, tokens, sums of roles, certificates, quotas."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import authenticated
from controlplane.client.resources import ResourceClient
from controlplane.controllers.builtin import BUILTIN
from controlplane.controllers.certificates.cleaner import over
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, found, until

ACCOUNTS = GVR("", "v1", "serviceaccounts")
SECRETS = GVR("", "v1", "secrets")
QUOTAS = GVR("", "v1", "resourcequotas")
POLICIES = GVR("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
REQUESTS = GVR("certificates.k8s.io", "v1", "certificatesigningrequests")


def with_all_controllers(config: Config) -> None:
    config.controllers = list(BUILTIN)


@asynccontextmanager
async def objects() -> AsyncIterator[tuple[Plane, Objects]]:
    async with running_plane(configure=with_all_controllers) as plane:
        yield plane, Objects(plane)


def test_a_new_namespace_gets_its_account_and_the_ca_and_they_come_back() -> None:
    async def main() -> None:
        async with objects() as (plane, o):
            await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            accounts = o.of(ACCOUNTS)

            async def both() -> bool:
                account = await found(accounts.get(Key("shop", "default")))
                return account is not None and await o.find("kube-root-ca.crt", "shop") is not None

            await until(both)
            ca = await o.find("kube-root-ca.crt", "shop")
            assert ca is not None
            credentials = plane.control_plane.config.cert_dir
            assert ca["data"]["ca.crt"] in {path.read_text() for path in credentials.glob("*ca*.crt")}
            await accounts.delete(Key("shop", "default"))
            await o.configmaps.delete(Key("shop", "kube-root-ca.crt"))
            await until(both)

    run(main())


def test_a_token_secret_is_filled_with_a_token_that_authenticates_and_goes_with_its_account() -> None:
    async def main() -> None:
        async with objects() as (plane, o):
            accounts, secrets = o.of(ACCOUNTS), o.of(SECRETS)
            metadata = {"namespace": "default", "name": "robot"}
            await accounts.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
            annotations = {"kubernetes.io/service-account.name": "robot"}
            await secrets.create(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"namespace": "default", "name": "robot-token", "annotations": annotations},
                    "type": "kubernetes.io/service-account-token",
                }
            )
            key = Key("default", "robot-token")

            async def filled() -> bool:
                return bool((await secrets.get(key)).get("data"))

            await until(filled)
            data = (await secrets.get(key))["data"]
            assert base64.b64decode(data["namespace"]) == b"default"
            assert base64.b64decode(data["ca.crt"]).startswith(b"-----BEGIN CERTIFICATE-----")
            token = base64.b64decode(data["token"]).decode()
            review = await plane.client().request(
                "POST",
                "/apis/authentication.k8s.io/v1/tokenreviews",
                body=b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"%s"}}'
                % token.encode(),
            )
            assert b"system:serviceaccount:default:robot" in review.content()
            await accounts.delete(Key("default", "robot"))

            async def gone() -> bool:
                return await found(secrets.get(key)) is None

            await until(gone)

    run(main())


def test_an_account_forgets_a_token_secret_that_is_gone_and_what_the_secret_says_itself_is_kept() -> None:
    async def main() -> None:
        async with objects() as (_plane, o):
            accounts, secrets = o.of(ACCOUNTS), o.of(SECRETS)
            await accounts.create(
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"namespace": "default", "name": "robot"},
                    "secrets": [{"name": "robot-token"}, {"name": "another"}],
                }
            )
            key, said = Key("default", "robot-token"), base64.b64encode(b"mine").decode()
            annotations = {"kubernetes.io/service-account.name": "robot"}
            await secrets.create(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"namespace": "default", "name": "robot-token", "annotations": annotations},
                    "type": "kubernetes.io/service-account-token",
                    "data": {"namespace": said},
                }
            )

            async def filled() -> bool:
                return "token" in ((await secrets.get(key)).get("data") or {})

            await until(filled)
            assert (await secrets.get(key))["data"]["namespace"] == said
            await secrets.delete(key)

            async def forgotten() -> bool:
                return bool((await accounts.get(Key("default", "robot")))["secrets"] == [{"name": "another"}])

            await until(forgotten)

    run(main())


def request_pem(common_name: str, *organizations: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def signing_request(name: str, signer: str, usages: list[str]) -> Obj:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(request_pem("alice", "crew")).decode(),
            "signerName": signer,
            "usages": usages,
            "expirationSeconds": 3600,
        },
    }


async def approve(o: Objects, name: str) -> None:
    requests = o.of(REQUESTS, namespaced=False)
    obj = await requests.get(Key("", name))
    approved = {"type": "Approved", "status": "True", "reason": "Test", "message": "fine"}
    obj["status"] = {"conditions": [approved]}
    await requests.update(obj, subresource="approval")


def test_an_approved_request_is_signed_for_as_long_as_was_asked() -> None:
    async def main() -> None:
        async with objects() as (plane, o):
            requests = o.of(REQUESTS, namespaced=False)
            await requests.create(signing_request("r", "kubernetes.io/kube-apiserver-client", ["client auth"]))
            await approve(o, "r")

            async def signed() -> bool:
                return bool((await requests.get(Key("", "r")))["status"].get("certificate"))

            await until(signed)
            pem = base64.b64decode((await requests.get(Key("", "r")))["status"]["certificate"])
            certificate = x509.load_pem_x509_certificate(pem)
            life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
            assert life.total_seconds() == 3600 + 300
            usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
            assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
            authorities = plane.control_plane.config.cert_dir.glob("*client-ca*.crt")
            [authority] = [x509.load_pem_x509_certificate(path.read_bytes()) for path in authorities]
            certificate.verify_directly_issued_by(authority)

    run(main())


def test_a_nodes_request_is_approved_if_its_user_may_make_it() -> None:
    async def main() -> None:
        async with objects() as (_plane, o):
            requests = o.of(REQUESTS, namespaced=False)
            request = signing_request("node", "kubernetes.io/kube-apiserver-client-kubelet", ["client auth"])
            request["spec"]["usages"] = ["digital signature", "client auth"]
            pem = request_pem("system:node:one", "system:nodes")
            request["spec"]["request"] = base64.b64encode(pem).decode()
            await requests.create(request)

            async def signed() -> bool:
                return bool(((await requests.get(Key("", "node"))).get("status") or {}).get("certificate"))

            await until(signed)
            [approved] = (await requests.get(Key("", "node")))["status"]["conditions"]
            assert (approved["type"], approved["reason"]) == ("Approved", "AutoApproved")
            assert approved["message"] == "Auto approving kubelet client certificate after SubjectAccessReview."

    run(main())


def test_a_nodes_request_is_approved_once_its_user_may_make_it() -> None:
    async def main() -> None:
        async with objects() as (plane, o):
            requests, user = o.of(REQUESTS, namespaced=False), "system:bootstrap:abc"
            await may(plane, user, "creator", "certificatesigningrequests")
            request = signing_request("node", "kubernetes.io/kube-apiserver-client-kubelet", ["client auth"])
            request["spec"]["usages"] = ["digital signature", "client auth"]
            pem = request_pem("system:node:one", "system:nodes")
            request["spec"]["request"] = base64.b64encode(pem).decode()
            asking = ResourceClient(plane.client(authenticated(UserInfo(name=user))), REQUESTS, namespaced=False)
            await asking.create(request)
            await may(plane, user, "node-client", "certificatesigningrequests/nodeclient")

            async def signed() -> bool:
                return bool(((await requests.get(Key("", "node"))).get("status") or {}).get("certificate"))

            await until(signed)

    run(main())


async def may(plane: Plane, user: str, name: str, resource: str) -> None:
    """Let a user create a resource of the group of certificates."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": ["create"]}
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    roles = ResourceClient(plane.client(), GVR(group, "v1", "clusterroles"), namespaced=False)
    bindings = ResourceClient(plane.client(), GVR(group, "v1", "clusterrolebindings"), namespaced=False)
    await roles.create(role)
    await bindings.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
            "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": group},
        }
    )


def test_a_request_that_its_signer_refuses_says_why() -> None:
    async def main() -> None:
        async with objects() as (_plane, o):
            requests = o.of(REQUESTS, namespaced=False)
            await requests.create(signing_request("r", "kubernetes.io/kube-apiserver-client", ["server auth"]))
            await approve(o, "r")

            async def failed() -> bool:
                status = (await requests.get(Key("", "r")))["status"]
                return any(c["type"] == "Failed" for c in status["conditions"])

            await until(failed)
            conditions = (await requests.get(Key("", "r")))["status"]["conditions"]
            assert conditions[-1]["reason"] == "SignerValidationFailure"
            assert conditions[-1]["message"] == "invalid usage for client certificate: server auth"

    run(main())


def test_requests_are_removed_in_their_time() -> None:
    created = meta.parse_time("2026-01-01T00:00:00Z").timestamp()

    def request(*kinds: str) -> Obj:
        conditions = [{"type": kind, "lastUpdateTime": "2026-01-01T00:00:00Z"} for kind in kinds]
        return {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": {"conditions": conditions}}

    assert not over(request(), created + 24 * 3600)
    assert over(request(), created + 24 * 3600 + 1)
    for kind in ("Approved", "Denied", "Failed"):
        assert not over(request(kind), created + 3600)
        assert over(request(kind), created + 3601)


def test_a_quota_of_what_nobody_can_count_says_what_it_bounds() -> None:
    async def main() -> None:
        async with objects() as (_plane, o):
            quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": "default", "name": "q"}}
            await o.of(QUOTAS).create({**quota, "spec": {"hard": {"pods": "1"}}})

            async def status() -> Obj:
                return (await o.of(QUOTAS).get(Key("default", "q"))).get("status") or {}

            async def said() -> bool:
                return await status() == {"hard": {"pods": "1"}}

            await until(said)

    run(main())


def test_a_quota_counts_what_is_there_and_notices_deletions() -> None:
    async def main() -> None:
        async with objects() as (_plane, o):
            await o.make("one")
            quotas = o.of(QUOTAS)
            await quotas.create(
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"namespace": "default", "name": "q"},
                    "spec": {"hard": {"count/configmaps": "5", "secrets": "3", "pods": "1", "count/events": "9"}},
                }
            )

            async def used() -> Obj:
                return (await quotas.get(Key("default", "q"))).get("status", {}).get("used") or {}

            async def two() -> bool:
                return await used() == {"count/configmaps": "2", "secrets": "0"}  # with kube-root-ca.crt

            await until(two)
            await o.delete("one")

            async def one() -> bool:
                return await used() == {"count/configmaps": "1", "secrets": "0"}

            await until(one)

    run(main())


def test_types_in_the_expressions_of_a_policy_are_checked_and_the_outcome_is_applied() -> None:
    """As to clients' mappers, the core's ``events`` are those of ``events.k8s.io`` too."""

    async def main() -> None:
        async with objects() as (_plane, o):
            rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}
            spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.foo == 1"}]}
            policies = o.of(POLICIES, namespaced=False)
            policy: Obj = {
                "apiVersion": str(POLICIES.gv),
                "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": "p"},
            }
            await policies.create({**policy, "spec": spec})

            async def checked() -> bool:
                return "observedGeneration" in ((await policies.get(Key("", "p"))).get("status") or {})

            await until(checked)
            policy = await policies.get(Key("", "p"))
            problem = "ERROR: <input>:1:7: undefined field 'foo'\n | object.foo == 1\n | ......^\n"
            warning = f"/v1, Kind=Event: {problem}\nevents.k8s.io/v1, Kind=Event: {problem}"
            assert policy["status"]["typeChecking"] == {
                "expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": warning}]
            }
            [told] = [m for m in policy["metadata"]["managedFields"] if m.get("subresource") == "status"]
            assert (told["manager"], told["operation"]) == ("validatingadmissionpolicy-status", "Apply")

    run(main())
