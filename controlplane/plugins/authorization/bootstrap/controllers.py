"""The roles of controllers: one each, given to its service account in kube-system.

Source: the rules of kubernetes 1.36 ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go``, with its
default feature gates.
"""

from __future__ import annotations

from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.plugins.authorization.bootstrap.policy import EVENTS, READ, Binding, Role, account, rule

__all__ = ["CONTROLLER_RULES", "controller_binding", "controller_role"]

PREFIX = "system:controller:"

_APPS = ("apps", "extensions")
_BATCH, _CERTIFICATES, _NETWORKING = "batch", "certificates.k8s.io", "networking.k8s.io"
_DISCOVERY, _RESOURCE, _STORAGE = "discovery.k8s.io", "resource.k8s.io", "storage.k8s.io"
_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
_POD_MAKER = rule("create delete list patch watch", "", "pods")
_SLICE_MAKER = rule("create delete get list update watch", _DISCOVERY, "endpointslices")
_REVISIONS = rule("create delete get list patch update watch", "apps", "controllerrevisions")


def controller_role(account_name: str, rules: tuple[PolicyRule, ...]) -> Role:
    """The role of a controller, by the name of its account."""
    return Role(PREFIX + account_name, rules)


def controller_binding(account_name: str) -> Binding:
    """Gives a controller its role."""
    return Binding(PREFIX + account_name, (account(account_name),))


CONTROLLER_RULES: dict[str, tuple[PolicyRule, ...]] = {
    "attachdetach-controller": (
        rule("list watch", "", "persistentvolumes persistentvolumeclaims"),
        rule(READ, "", "nodes"),
        rule("patch update", "", "nodes/status"),
        rule("list watch", "", "pods"),
        EVENTS,
        rule("create delete get list watch", _STORAGE, "volumeattachments"),
        rule(READ, _STORAGE, "csidrivers"),
        rule(READ, _STORAGE, "csinodes"),
    ),
    "clusterrole-aggregation-controller": (rule("escalate get list patch update watch", _RBAC, "clusterroles"),),
    "cronjob-controller": (
        rule("get list update watch", _BATCH, "cronjobs"),
        rule("create delete get list patch update watch", _BATCH, "jobs"),
        rule("update", _BATCH, "cronjobs/status"),
        rule("update", _BATCH, "cronjobs/finalizers"),
        rule("delete list watch", "", "pods"),
        EVENTS,
    ),
    "daemon-set-controller": (
        rule(READ, _APPS, "daemonsets"),
        rule("update", _APPS, "daemonsets/status"),
        rule("update", _APPS, "daemonsets/finalizers"),
        rule("list watch", "", "nodes"),
        _POD_MAKER,
        rule("create", "", "pods/binding"),
        _REVISIONS,
        EVENTS,
    ),
    "deployment-controller": (
        rule("get list update watch", _APPS, "deployments"),
        rule("update", _APPS, "deployments/status"),
        rule("update", _APPS, "deployments/finalizers"),
        rule("create delete get list patch update watch", _APPS, "replicasets"),
        rule("get list update watch", "", "pods"),
        EVENTS,
    ),
    "disruption-controller": (
        rule(READ, _APPS, "deployments"),
        rule(READ, _APPS, "replicasets"),
        rule(READ, "", "replicationcontrollers"),
        rule(READ, "policy", "poddisruptionbudgets"),
        rule(READ, "apps", "statefulsets"),
        rule("update", "policy", "poddisruptionbudgets/status"),
        rule("patch update", "", "pods/status"),
        rule("get", "*", "*/scale"),
        EVENTS,
    ),
    "endpoint-controller": (
        rule(READ, "", "services pods"),
        rule("create delete get list update watch", "", "endpoints"),
        rule("create", "", "endpoints/restricted"),
        EVENTS,
    ),
    "endpointslice-controller": (
        rule(READ, "", "services pods nodes"),
        rule("update", "", "services/finalizers"),
        _SLICE_MAKER,
        EVENTS,
    ),
    "endpointslicemirroring-controller": (
        rule(READ, "", "services endpoints"),
        rule("update", "", "services/finalizers"),
        rule("update", "", "endpoints/finalizers"),
        _SLICE_MAKER,
        EVENTS,
    ),
    "expand-controller": (
        rule("get list patch update watch", "", "persistentvolumes"),
        rule("patch update", "", "persistentvolumeclaims/status"),
        rule(READ, "", "persistentvolumeclaims"),
        EVENTS,
    ),
    "ephemeral-volume-controller": (
        rule(READ, "", "pods"),
        rule("update", "", "pods/finalizers"),
        rule("create get list watch", "", "persistentvolumeclaims"),
        EVENTS,
    ),
    "resource-claim-controller": (
        rule(READ, "", "pods"),
        rule("update", "", "pods/finalizers"),
        rule("create delete get list watch", _RESOURCE, "resourceclaims"),
        rule("patch update", _RESOURCE, "resourceclaims resourceclaims/status"),
        rule("patch update", "", "pods/status"),
        EVENTS,
        rule("patch update", _RESOURCE, "resourceclaims/binding"),
    ),
    "device-taint-eviction-controller": (
        rule("delete get list watch", "", "pods"),
        rule("patch update", "", "pods/status"),
        rule(READ, _RESOURCE, "resourceclaims"),
        rule(READ, _RESOURCE, "resourceslices"),
        rule(READ, _RESOURCE, "deviceclasses"),
        EVENTS,
    ),
    "generic-garbage-collector": (rule("delete get list patch update watch", "*", "*"), EVENTS),
    "horizontal-pod-autoscaler": (
        rule(READ, "autoscaling", "horizontalpodautoscalers"),
        rule("update", "autoscaling", "horizontalpodautoscalers/status"),
        rule("get update", "*", "*/scale"),
        rule("list watch", "", "pods"),
        rule("list watch", "metrics.k8s.io", "pods"),
        rule(READ, "custom.metrics.k8s.io", "*"),
        rule(READ, "external.metrics.k8s.io", "*"),
        EVENTS,
    ),
    "job-controller": (
        rule("get list patch update watch", _BATCH, "jobs"),
        rule("update", _BATCH, "jobs/status"),
        rule("update", _BATCH, "jobs/finalizers"),
        _POD_MAKER,
        EVENTS,
    ),
    "namespace-controller": (
        rule("delete get list watch", "", "namespaces"),
        rule("update", "", "namespaces/finalize namespaces/status"),
        rule("delete deletecollection get list watch", "*", "*"),
    ),
    "node-controller": (
        rule("delete get list patch update watch", "", "nodes"),
        rule("patch update", "", "nodes/status"),
        rule("patch update", "", "pods/status"),
        rule("delete get list watch", "", "pods"),
        EVENTS,
    ),
    "persistent-volume-binder": (
        rule("create delete get list update watch", "", "persistentvolumes"),
        rule("update", "", "persistentvolumes/status"),
        rule("get list update watch", "", "persistentvolumeclaims"),
        rule("update", "", "persistentvolumeclaims/status"),
        rule("create delete get list watch", "", "pods"),
        rule(READ, _STORAGE, "storageclasses"),
        rule("list watch", "", "nodes"),
        EVENTS,
        rule("watch", "", "events"),
    ),
    "pod-garbage-collector": (
        rule("delete list watch", "", "pods"),
        rule(READ, "", "nodes"),
        rule("patch", "", "pods/status"),
    ),
    "replicaset-controller": (
        rule("get list update watch", _APPS, "replicasets"),
        rule("update", _APPS, "replicasets/status"),
        rule("update", _APPS, "replicasets/finalizers"),
        _POD_MAKER,
        EVENTS,
    ),
    "replication-controller": (
        rule("get list update watch", "", "replicationcontrollers"),
        rule("update", "", "replicationcontrollers/status"),
        rule("update", "", "replicationcontrollers/finalizers"),
        _POD_MAKER,
        EVENTS,
    ),
    "resourcequota-controller": (
        rule("list watch", "*", "*"),
        rule("update", "", "resourcequotas/status"),
        EVENTS,
    ),
    "route-controller": (
        rule("list watch", "", "nodes"),
        rule("patch", "", "nodes/status"),
        EVENTS,
    ),
    "service-account-controller": (rule("create", "", "serviceaccounts"), EVENTS),
    "service-controller": (
        rule(READ, "", "services"),
        rule("patch update", "", "services/status"),
        rule("list watch", "", "nodes"),
        EVENTS,
    ),
    "service-cidrs-controller": (
        rule("get list patch update watch", _NETWORKING, "servicecidrs"),
        rule("patch update", _NETWORKING, "servicecidrs/finalizers"),
        rule("patch update", _NETWORKING, "servicecidrs/status"),
        rule(READ, _NETWORKING, "ipaddresses"),
        EVENTS,
    ),
    "statefulset-controller": (
        rule("list watch", "", "pods"),
        rule(READ, "apps", "statefulsets"),
        rule("update", "apps", "statefulsets/status"),
        rule("update", "apps", "statefulsets/finalizers"),
        rule("create delete get patch update", "", "pods"),
        _REVISIONS,
        rule("create get list watch", "", "persistentvolumeclaims"),
        rule("delete update", "", "persistentvolumeclaims"),
        rule("update", "", "pods/finalizers"),
        EVENTS,
    ),
    "ttl-controller": (rule("list patch update watch", "", "nodes"), EVENTS),
    "certificate-controller": (
        rule("delete get list watch", _CERTIFICATES, "certificatesigningrequests"),
        rule("update", _CERTIFICATES, "certificatesigningrequests/status certificatesigningrequests/approval"),
        rule("approve", _CERTIFICATES, "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
        rule(
            "sign",
            _CERTIFICATES,
            "signers",
            "kubernetes.io/legacy-unknown",
            "kubernetes.io/kube-apiserver-client",
            "kubernetes.io/kube-apiserver-client-kubelet",
            "kubernetes.io/kubelet-serving",
        ),
        rule("create", "authorization.k8s.io", "subjectaccessreviews"),
        EVENTS,
    ),
    "pvc-protection-controller": (
        rule("get list update watch", "", "persistentvolumeclaims"),
        rule("update", "", "persistentvolumeclaims/status"),
        rule(READ, "", "pods"),
        EVENTS,
    ),
    "pv-protection-controller": (rule("get list update watch", "", "persistentvolumes"), EVENTS),
    "volumeattributesclass-protection-controller": (
        rule(READ, "", "persistentvolumeclaims"),
        rule(READ, "", "persistentvolumes"),
        rule("get list update watch", _STORAGE, "volumeattributesclasses"),
        EVENTS,
    ),
    "ttl-after-finished-controller": (rule("delete get list watch", _BATCH, "jobs"), EVENTS),
    "root-ca-cert-publisher": (rule("create update", "", "configmaps"), EVENTS),
    "validatingadmissionpolicy-status-controller": (
        rule(READ, _ADMISSION, "validatingadmissionpolicies"),
        rule("get patch update", _ADMISSION, "validatingadmissionpolicies/status"),
        EVENTS,
    ),
    "legacy-service-account-token-cleaner": (
        rule("get", "", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
        rule("delete patch", "", "secrets"),
    ),
    "selinux-warning-controller": (
        EVENTS,
        rule(READ, "", "persistentvolumes"),
        rule(READ, "", "persistentvolumeclaims"),
        rule(READ, "", "pods"),
        rule(READ, _STORAGE, "csidrivers"),
    ),
}
"""By the name of the controller's account."""
