"""One small valid object of every built-in kind that is kept, and of a custom one."""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import GVR, Obj

__all__ = ["EXAMPLES"]

_HOOK: Obj = {
    "name": "deny.example.org",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "rules": [{"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_MATCH: Obj = {"resourceRules": _HOOK["rules"]}
_CRD: Obj = {
    "group": "examples.org",
    "scope": "Namespaced",
    "names": {"plural": "toys", "singular": "toy", "kind": "Toy"},
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
    ],
}


def _of(gvr: GVR, kind: str, *, name: str = "example", namespaced: bool = True, **fields: Any) -> tuple[GVR, Obj]:
    metadata = {"name": name, **({"namespace": "kept"} if namespaced else {})}
    api_version = f"{gvr.group}/{gvr.version}" if gvr.group else gvr.version
    return gvr, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_RULES = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
_SUBJECTS = [{"kind": "User", "name": "a", "apiGroup": _RBAC}]

EXAMPLES: tuple[tuple[GVR, Obj], ...] = (
    _of(GVR("", "v1", "namespaces"), "Namespace", name="kept", namespaced=False),
    _of(GVR("", "v1", "configmaps"), "ConfigMap", data={"a": "1"}),
    _of(GVR("", "v1", "secrets"), "Secret", stringData={"a": "1"}),
    _of(GVR("", "v1", "serviceaccounts"), "ServiceAccount"),
    _of(GVR("", "v1", "resourcequotas"), "ResourceQuota", spec={"hard": {"count/configmaps": "9"}}),
    _of(GVR("", "v1", "events"), "Event", involvedObject={"kind": "ConfigMap", "namespace": "kept", "name": "x"}),
    _of(GVR("coordination.k8s.io", "v1", "leases"), "Lease", spec={"holderIdentity": "a"}),
    _of(GVR(_RBAC, "v1", "roles"), "Role", rules=_RULES),
    _of(
        GVR(_RBAC, "v1", "rolebindings"),
        "RoleBinding",
        subjects=_SUBJECTS,
        roleRef={"apiGroup": _RBAC, "kind": "Role", "name": "example"},
    ),
    _of(GVR(_RBAC, "v1", "clusterroles"), "ClusterRole", namespaced=False, rules=_RULES),
    _of(
        GVR(_RBAC, "v1", "clusterrolebindings"),
        "ClusterRoleBinding",
        namespaced=False,
        subjects=_SUBJECTS,
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": "example"},
    ),
    _of(
        GVR("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations"),
        "PriorityLevelConfiguration",
        namespaced=False,
        spec={"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
    ),
    _of(
        GVR("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"),
        "FlowSchema",
        namespaced=False,
        spec={"priorityLevelConfiguration": {"name": "example"}, "matchingPrecedence": 500},
    ),
    _of(
        GVR(_ADMISSION, "v1", "validatingwebhookconfigurations"),
        "ValidatingWebhookConfiguration",
        namespaced=False,
        webhooks=[_HOOK],
    ),
    _of(
        GVR(_ADMISSION, "v1", "mutatingwebhookconfigurations"),
        "MutatingWebhookConfiguration",
        namespaced=False,
        webhooks=[_HOOK],
    ),
    _of(
        GVR(_ADMISSION, "v1", "validatingadmissionpolicies"),
        "ValidatingAdmissionPolicy",
        namespaced=False,
        spec={"matchConstraints": _MATCH, "validations": [{"expression": "true"}]},
    ),
    _of(
        GVR(_ADMISSION, "v1", "validatingadmissionpolicybindings"),
        "ValidatingAdmissionPolicyBinding",
        namespaced=False,
        spec={"policyName": "example", "validationActions": ["Deny"]},
    ),
    _of(
        GVR(_ADMISSION, "v1", "mutatingadmissionpolicybindings"),
        "MutatingAdmissionPolicyBinding",
        namespaced=False,
        spec={"policyName": "example"},
    ),
    _of(
        GVR("apiregistration.k8s.io", "v1", "apiservices"),
        "APIService",
        name="v1.nowhere.example.org",
        namespaced=False,
        spec={
            "group": "nowhere.example.org",
            "version": "v1",
            "groupPriorityMinimum": 10,
            "versionPriority": 10,
        },
    ),
    _of(
        GVR("storagemigration.k8s.io", "v1beta1", "storageversionmigrations"),
        "StorageVersionMigration",
        namespaced=False,
        spec={"resource": {"group": "", "resource": "configmaps"}},
    ),
    _of(
        GVR("internal.apiserver.k8s.io", "v1alpha1", "storageversions"),
        "StorageVersion",
        name="example.org.gadgets",
        namespaced=False,
    ),
    _of(
        GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        "CustomResourceDefinition",
        name="toys.examples.org",
        namespaced=False,
        spec=_CRD,
    ),
    _of(GVR("examples.org", "v1", "toys"), "Toy", spec={"color": "red"}),
)
"""Each after what it needs. Not here: certificate requests and mutating policies, which tests of their own make."""
