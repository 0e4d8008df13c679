"""Each admission plugin by what it does: seen while it is on, and nowhere once it is off."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import authenticated
from controlplane.base.options import load
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import config_of
from controlplane.generic.options import GenericOptions
from controlplane.testing.planes import Plane, plane_of
from tests.aio import run
from tests.integration.composition.test_booleans import LONG, flag_of
from tests.integration.controllers.test_small_controllers import request_pem

ADMISSION, RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
CONFIGMAPS = GVR("", "v1", "configmaps")
REQUESTS = GVR("certificates.k8s.io", "v1", "certificatesigningrequests")
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
MATCH: Obj = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    ],
    "objectSelector": {"matchLabels": {"for": "policy"}},
}


def of(plane: Plane, gvr: GVR, *, user: str = "", namespaced: bool = False) -> ResourceClient:
    client = plane.client(authenticated(UserInfo(name=user))) if user else plane.client()
    return ResourceClient(client, gvr, namespaced=namespaced)


async def make(plane: Plane, group: str, plural: str, kind: str, name: str, **fields: object) -> None:
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, **fields}
    await of(plane, GVR(group, "v1", plural)).create(obj)


async def refused(writing: Awaitable[object]) -> bool:
    try:
        await writing
    except APIError:
        return True
    return False


def configmap(name: str, namespace: str = "default", **metadata: object) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, **metadata},
    }


async def may(plane: Plane, user: str, group: str, resources: list[str], verbs: list[str]) -> None:
    """Let a user do this and no more."""
    rule = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    await make(plane, RBAC, "clusterroles", "ClusterRole", user, rules=[rule])
    subject = {"kind": "User", "name": user, "apiGroup": RBAC}
    role = {"kind": "ClusterRole", "name": user, "apiGroup": RBAC}
    await make(plane, RBAC, "clusterrolebindings", "ClusterRoleBinding", user, subjects=[subject], roleRef=role)


async def request(plane: Plane, name: str, *organizations: str) -> Obj:
    pem = base64.b64encode(request_pem("alice", *organizations)).decode()
    spec = {"request": pem, "signerName": CLIENT_SIGNER, "usages": ["client auth"]}
    return await of(plane, REQUESTS).create(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


async def namespace_lifecycle(plane: Plane) -> bool:
    return await refused(of(plane, CONFIGMAPS, namespaced=True).create(configmap("a", "nowhere")))


async def certificate_subject_restriction(plane: Plane) -> bool:
    return await refused(request(plane, "masters", "system:masters"))


async def certificate_approval(plane: Plane) -> bool:
    await may(plane, "approver", REQUESTS.group, [f"{REQUESTS.resource}/approval"], ["update"])
    made = await request(plane, "approved")
    approved = {"type": "Approved", "status": "True", "reason": "Test", "message": "fine"}
    changed = {**made, "status": {"conditions": [approved]}}
    return await refused(of(plane, REQUESTS, user="approver").update(changed, subresource="approval"))


async def certificate_signing(plane: Plane) -> bool:
    await may(plane, "signer", REQUESTS.group, [f"{REQUESTS.resource}/status"], ["update"])
    made = await request(plane, "signed")
    failed = {"type": "Failed", "status": "True", "reason": "Test", "message": "no"}
    changed = {**made, "status": {"conditions": [failed]}}
    return await refused(of(plane, REQUESTS, user="signer").update_status(changed))


async def owner_references_permission_enforcement(plane: Plane) -> bool:
    await may(plane, "maker", "", ["configmaps"], ["create", "update"])
    configmaps = of(plane, CONFIGMAPS, namespaced=True)
    owner = await configmaps.create(configmap("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    blocking = configmap("owned", ownerReferences=[{**reference, "blockOwnerDeletion": True}])
    return await refused(of(plane, CONFIGMAPS, user="maker", namespaced=True).create(blocking))


async def validating_admission_policy(plane: Plane) -> bool:
    never: Obj = {"matchConstraints": MATCH, "validations": [{"expression": "false"}]}
    await make(plane, ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", "never", spec=never)
    binding = {"policyName": "never", "validationActions": ["Deny"]}
    plural = "validatingadmissionpolicybindings"
    await make(plane, ADMISSION, plural, "ValidatingAdmissionPolicyBinding", "never", spec=binding)
    configmaps = of(plane, CONFIGMAPS, namespaced=True)
    return await refused(configmaps.create(configmap("by-policy", labels={"for": "policy"})))


async def by_webhook(plane: Plane, kind: str) -> bool:
    """A webhook that nobody answers, for one label."""
    hook = {
        "name": "nobody.example.org",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": MATCH["resourceRules"],
        "objectSelector": {"matchLabels": {"for": kind.lower()}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await make(
        plane, ADMISSION, f"{kind.lower()}webhookconfigurations", f"{kind}WebhookConfiguration", "h", webhooks=[hook]
    )
    configmaps = of(plane, CONFIGMAPS, namespaced=True)
    return await refused(configmaps.create(configmap(f"by-{kind.lower()}", labels={"for": kind.lower()})))


async def mutating_admission_webhook(plane: Plane) -> bool:
    return await by_webhook(plane, "Mutating")


async def validating_admission_webhook(plane: Plane) -> bool:
    return await by_webhook(plane, "Validating")


async def mutating_admission_policy(plane: Plane) -> bool:
    """Whether an object is changed on its way."""
    labels = 'Object{metadata: Object.metadata{labels: {"seen": "yes"}}}'
    spec: Obj = {
        "matchConstraints": {**MATCH, "objectSelector": {"matchLabels": {"for": "mutation"}}},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labels}}],
        "reinvocationPolicy": "Never",
    }
    await make(plane, ADMISSION, "mutatingadmissionpolicies", "MutatingAdmissionPolicy", "label", spec=spec)
    plural = "mutatingadmissionpolicybindings"
    await make(plane, ADMISSION, plural, "MutatingAdmissionPolicyBinding", "label", spec={"policyName": "label"})
    made = await of(plane, CONFIGMAPS, namespaced=True).create(configmap("mutated", labels={"for": "mutation"}))
    return "seen" in made["metadata"]["labels"]


async def resource_quota(plane: Plane) -> bool:
    quotas = of(plane, GVR("", "v1", "resourcequotas"), namespaced=True)
    await of(plane, GVR("", "v1", "namespaces")).create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "full"}}
    )
    hard = {"count/configmaps": "0"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": "full", "name": "q"}}
    await quotas.create({**quota, "spec": {"hard": hard}})
    now = await quotas.get(Key("full", "q"))
    await quotas.update_status({**now, "status": {"hard": hard, "used": hard}})
    return await refused(of(plane, CONFIGMAPS, namespaced=True).create(configmap("a", "full")))


EFFECTS: dict[str, Callable[[Plane], Awaitable[bool]]] = {
    f"admission.{effect.__name__}": effect
    for effect in (
        namespace_lifecycle,
        certificate_subject_restriction,
        certificate_approval,
        certificate_signing,
        owner_references_permission_enforcement,
        validating_admission_policy,
        validating_admission_webhook,
        mutating_admission_policy,
        mutating_admission_webhook,
        resource_quota,
    )
}
"""What is to be seen of each plugin that can be seen here: ServiceAccount is for pods, EventRateLimit needs a file."""
ON = ("--admission.owner-references-permission-enforcement=true", "--controllers.enabled=false")


async def seen(off: list[str], directory: Path) -> dict[str, bool]:
    """Which plugins' effects are seen in a plane without some of them."""
    flags = [flag for flag in ON if flag.partition("=")[0] not in {flag_of(path).partition("=")[0] for path in off}]
    config = config_of(load(GenericOptions, [*flags, *map(flag_of, off)], environ={}).options)
    config.port, config.store, config.cert_dir = 0, "memory:", directory / "certs"
    config.kubeconfig = directory / "admin.conf"
    async with plane_of(config) as plane:
        return {path: await effect(plane) for path, effect in EFFECTS.items()}


@pytest.mark.parametrize(
    "off",
    [
        pytest.param([], id="all on"),
        pytest.param(list(EFFECTS), id="all off"),
        *(pytest.param([path], id=path) for path in (EFFECTS if LONG else ())),
    ],
)
def test_a_plugin_that_is_off_is_not_on_the_path_of_any_write(off: list[str], tmp_path: Path) -> None:
    assert run(seen(off, tmp_path)) == {path: path not in off for path in EFFECTS}
