"""What the first policies and conditions need is imported beside the loop: to load the expression language takes a
fifth of a second."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, sys, threading
from controlplane.apimachinery.identity import GVR
from controlplane.client.resources import ResourceClient
from controlplane.testing.planes import running_plane

GROUP = "admissionregistration.k8s.io"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
MATCH = {"resourceRules": [RULE]}
CHANGE = {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}
on_the_loop, aside = set(), set()

class Seen:
    @staticmethod
    def find_spec(name, path, target=None):
        (on_the_loop if threading.current_thread() is threading.main_thread() else aside).add(name)

def obj(kind, **parts):
    return {"apiVersion": GROUP + "/v1", "kind": kind, "metadata": {"name": "one"}, **parts}

OBJECTS = {
    "validatingwebhookconfigurations": obj("ValidatingWebhookConfiguration", webhooks=[{
        "name": "w.example.org", "rules": [RULE], "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "matchConditions": [{"name": "never", "expression": "object.metadata.name == 'other'"}],
    }]),
    "validatingadmissionpolicies": obj("ValidatingAdmissionPolicy", spec={
        "matchConstraints": MATCH, "validations": [{"expression": "object.metadata.name != 'other'"}]}),
    "validatingadmissionpolicybindings": obj("ValidatingAdmissionPolicyBinding", spec={
        "policyName": "one", "validationActions": ["Deny"]}),
    "mutatingadmissionpolicies": obj("MutatingAdmissionPolicy", spec={
        "reinvocationPolicy": "Never", "matchConstraints": MATCH,
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": CHANGE}]}),
    "mutatingadmissionpolicybindings": obj("MutatingAdmissionPolicyBinding", spec={"policyName": "one"}),
}

async def main():
    async with running_plane() as plane:
        maps = ResourceClient(plane.client(), GVR("", "v1", "configmaps"), namespaced=True)
        sys.meta_path.insert(0, Seen)
        for number, (plural, one) in enumerate(OBJECTS.items()):
            await ResourceClient(plane.client(), GVR(GROUP, "v1", plural), namespaced=False).create(one)
            name = {"name": f"n{number}", "namespace": "default"}
            last = await maps.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name})
        assert last["metadata"]["labels"] == {"a": "b"}, last
        assert "controlplane.cel.program" in aside, sorted(aside)
        assert "controlplane.plugins.admission.policies.validation" in aside, sorted(aside)
        assert "controlplane.plugins.admission.policies.mutation" in aside, sorted(aside)
        print(*sorted(on_the_loop - aside))

asyncio.run(main())
"""


def test_no_module_is_imported_on_the_loop_for_the_first_policies() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.split()
