"""The cluster roles that every server has, and whom they are given to; controllers' apart.

Source: the rules of kubernetes 1.36 ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go``, with its default
feature gates. They name resources of whole clusters too: who runs such a cluster beside this server finds the roles
that its parts expect.
"""

from __future__ import annotations

from controlplane.apimachinery.user import AUTHENTICATED_GROUP, MASTERS_GROUP, UNAUTHENTICATED_GROUP
from controlplane.plugins.authorization.bootstrap.policy import (
    EVENTS,
    READ,
    READ_UPDATE,
    READ_WRITE,
    WRITE,
    Binding,
    Role,
    account,
    group,
    paths,
    rule,
    user,
)

__all__ = ["CLUSTER_BINDINGS", "CLUSTER_ROLES"]

APPS, AUTOSCALING, BATCH, CERTIFICATES = "apps", "autoscaling", "batch", "certificates.k8s.io"
COORDINATION, DISCOVERY, EXTENSIONS, NETWORKING = (
    "coordination.k8s.io",
    "discovery.k8s.io",
    "extensions",
    "networking.k8s.io",
)
POLICY, RBAC, RESOURCE, STORAGE = "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "storage.k8s.io"
AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"

_TO_ADMIN, _TO_EDIT, _TO_VIEW = (f"{RBAC}/aggregate-to-{role}" for role in ("admin", "edit", "view"))
_TOKEN_REVIEWS = rule("create", AUTHENTICATION, "tokenreviews")
_ACCESS_REVIEWS = rule("create", AUTHORIZATION, "subjectaccessreviews")
_HEALTH = ("/livez", "/readyz", "/healthz")

_VIEW = (
    rule(
        READ,
        "",
        "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status endpoints "
        "persistentvolumeclaims persistentvolumeclaims/status configmaps",
    ),
    rule(
        READ,
        "",
        "limitranges resourcequotas bindings events pods/status resourcequotas/status namespaces/status "
        "replicationcontrollers/status pods/log",
    ),
    rule(READ, "", "namespaces"),
    rule(READ, DISCOVERY, "endpointslices"),
    rule(
        READ,
        APPS,
        "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status "
        "deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale",
    ),
    rule(READ, AUTOSCALING, "horizontalpodautoscalers horizontalpodautoscalers/status"),
    rule(READ, BATCH, "jobs cronjobs cronjobs/status jobs/status"),
    rule(
        READ,
        EXTENSIONS,
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
        "replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies",
    ),
    rule(READ, POLICY, "poddisruptionbudgets poddisruptionbudgets/status"),
    rule(READ, NETWORKING, "networkpolicies ingresses ingresses/status"),
    rule(READ, RESOURCE, "resourceclaims resourceclaims/status resourceclaimtemplates"),
)

_EDIT = (
    rule(READ, "", "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
    rule("impersonate", "", "serviceaccounts"),
    rule(WRITE, "", "pods pods/attach pods/proxy pods/exec pods/portforward"),
    rule("create", "", "pods/eviction"),
    rule(
        WRITE,
        "",
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
        "persistentvolumeclaims configmaps secrets events",
    ),
    rule("create", "", "serviceaccounts/token"),
    rule(
        WRITE,
        APPS,
        "statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback replicasets "
        "replicasets/scale",
    ),
    rule(WRITE, AUTOSCALING, "horizontalpodautoscalers"),
    rule(WRITE, BATCH, "jobs cronjobs"),
    rule(
        WRITE,
        EXTENSIONS,
        "daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale "
        "replicationcontrollers/scale networkpolicies",
    ),
    rule(WRITE, POLICY, "poddisruptionbudgets"),
    rule(WRITE, NETWORKING, "networkpolicies ingresses"),
    rule(READ_WRITE, COORDINATION, "leases"),
    rule(WRITE, RESOURCE, "resourceclaims resourceclaimtemplates"),
)

_NODE = (
    _TOKEN_REVIEWS,
    rule("create", AUTHORIZATION, "subjectaccessreviews localsubjectaccessreviews"),
    rule(READ, "", "services"),
    rule("create get list watch", "", "nodes"),
    rule("update patch", "", "nodes/status"),
    rule("update patch", "", "nodes"),
    rule("create update patch", "", "events"),
    rule(READ, "", "pods"),
    rule("create delete", "", "pods"),
    rule("update patch", "", "pods/status"),
    rule("create", "", "pods/eviction"),
    rule(READ, "", "secrets configmaps"),
    rule("get", "", "persistentvolumeclaims persistentvolumes"),
    rule("get", "", "endpoints"),
    rule("create get list watch", CERTIFICATES, "certificatesigningrequests"),
    rule("get create update patch delete", COORDINATION, "leases"),
    rule("get", STORAGE, "volumeattachments"),
    rule("create", "", "serviceaccounts/token"),
    rule("get update patch", "", "persistentvolumeclaims/status"),
    rule(READ, STORAGE, "csidrivers"),
    rule("get create update patch delete", STORAGE, "csinodes"),
    rule(READ, "node.k8s.io", "runtimeclasses"),
    rule("get", RESOURCE, "resourceclaims"),
    rule("deletecollection", RESOURCE, "resourceslices"),
    rule("get", "", "serviceaccounts"),
)

_SCHEDULER = (
    EVENTS,
    rule("create", COORDINATION, "leases"),
    rule("get update", COORDINATION, "leases", "kube-scheduler"),
    rule(READ, "", "nodes"),
    rule("get list watch delete", "", "pods"),
    rule("create", "", "pods/binding bindings"),
    rule("patch update", "", "pods/status"),
    rule(READ, "", "services replicationcontrollers"),
    rule(READ, (APPS, EXTENSIONS), "replicasets"),
    rule(READ, APPS, "statefulsets"),
    rule(READ, POLICY, "poddisruptionbudgets"),
    rule(READ, "", "persistentvolumeclaims persistentvolumes"),
    _TOKEN_REVIEWS,
    _ACCESS_REVIEWS,
    rule(READ, STORAGE, "csinodes"),
    rule(READ, "", "namespaces"),
    rule(READ, STORAGE, "csidrivers"),
    rule(READ, STORAGE, "csistoragecapacities"),
    rule(READ, STORAGE, "volumeattachments"),
    rule(READ, RESOURCE, "deviceclasses"),
    rule(READ_UPDATE, RESOURCE, "resourceclaims"),
    rule(READ_UPDATE, RESOURCE, "resourceclaims/status"),
    rule(READ, RESOURCE, "resourceslices"),
    rule("patch update", RESOURCE, "resourceclaims/binding"),
)

_CONTROLLER_MANAGER = (
    EVENTS,
    rule("create", COORDINATION, "leases"),
    rule("get update", COORDINATION, "leases", "kube-controller-manager"),
    rule("create", "", "secrets serviceaccounts"),
    rule("delete", "", "secrets"),
    rule("get", "", "namespaces secrets serviceaccounts configmaps"),
    rule("update", "", "secrets serviceaccounts"),
    _TOKEN_REVIEWS,
    _ACCESS_REVIEWS,
    rule("list watch", "*", "*"),
    rule("create", "", "serviceaccounts/token"),
)


def _approver(signer: str) -> Role:
    return Role(
        f"system:certificates.k8s.io:{signer}-approver",
        (rule("approve", CERTIFICATES, "signers", f"kubernetes.io/{signer}"),),
    )


def _csr_role(kind: str) -> Role:
    resource = f"certificatesigningrequests/{kind}"
    return Role(
        f"system:certificates.k8s.io:certificatesigningrequests:{kind}", (rule("create", CERTIFICATES, resource),)
    )


CLUSTER_ROLES: tuple[Role, ...] = (
    Role("cluster-admin", (rule("*", "*", "*"), paths("*", verbs="*"))),
    Role(
        "system:discovery",
        (
            paths(
                *_HEALTH,
                "/version",
                "/version/",
                "/openapi",
                "/openapi/*",
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
            ),
        ),
    ),
    Role(
        "system:monitoring",
        (
            paths("/metrics", "/metrics/slis", *_HEALTH, "/livez/*", "/readyz/*", "/healthz/*"),
            paths("/flagz"),
            paths("/statusz"),
        ),
    ),
    Role(
        "system:basic-user",
        (
            rule("create", AUTHORIZATION, "selfsubjectaccessreviews selfsubjectrulesreviews"),
            rule("create", AUTHENTICATION, "selfsubjectreviews"),
        ),
    ),
    Role("system:public-info-viewer", (paths(*_HEALTH, "/version", "/version/"),)),
    Role("admin", aggregates=_TO_ADMIN),
    Role("edit", labels=(_TO_ADMIN,), aggregates=_TO_EDIT),
    Role("view", labels=(_TO_EDIT,), aggregates=_TO_VIEW),
    Role(
        "system:aggregate-to-admin",
        (rule("create", AUTHORIZATION, "localsubjectaccessreviews"), rule(READ_WRITE, RBAC, "roles rolebindings")),
        labels=(_TO_ADMIN,),
    ),
    Role("system:aggregate-to-edit", _EDIT, labels=(_TO_EDIT,)),
    Role("system:aggregate-to-view", _VIEW, labels=(_TO_VIEW,)),
    Role(
        "system:heapster",
        (rule(READ, "", "events pods nodes namespaces"), rule(READ, EXTENSIONS, "deployments")),
    ),
    Role("system:node", _NODE),
    Role("system:node-problem-detector", (rule("get", "", "nodes"), rule("patch", "", "nodes/status"), EVENTS)),
    Role(
        "system:kubelet-api-admin",
        (
            rule(READ, "", "nodes"),
            rule("proxy", "", "nodes"),
            rule("*", "", "nodes/proxy nodes/metrics nodes/stats nodes/log"),
            rule("*", "", "nodes/pods nodes/healthz nodes/configz"),
        ),
    ),
    Role("system:node-bootstrapper", (rule("create get list watch", CERTIFICATES, "certificatesigningrequests"),)),
    Role("system:auth-delegator", (_TOKEN_REVIEWS, _ACCESS_REVIEWS)),
    Role("system:kube-aggregator", (rule(READ, "", "services endpoints"),)),
    Role("system:kube-controller-manager", _CONTROLLER_MANAGER),
    Role("system:kube-dns", (rule("list watch", "", "endpoints services"),)),
    Role(
        "system:persistent-volume-provisioner",
        (
            rule("get list watch create delete", "", "persistentvolumes"),
            rule("get list watch update", "", "persistentvolumeclaims"),
            rule(READ, STORAGE, "storageclasses"),
            rule("watch", "", "events"),
            EVENTS,
        ),
    ),
    _csr_role("nodeclient"),
    _csr_role("selfnodeclient"),
    Role(
        "system:volume-scheduler",
        (
            rule(READ_UPDATE, "", "persistentvolumes"),
            rule(READ, STORAGE, "storageclasses"),
            rule(READ_UPDATE, "", "persistentvolumeclaims"),
        ),
    ),
    _approver("legacy-unknown"),
    _approver("kubelet-serving"),
    _approver("kube-apiserver-client"),
    _approver("kube-apiserver-client-kubelet"),
    Role(
        "system:service-account-issuer-discovery",
        (
            paths(
                "/.well-known/openid-configuration",
                "/.well-known/openid-configuration/",
                "/openid/v1/jwks",
                "/openid/v1/jwks/",
            ),
        ),
    ),
    Role(
        "system:node-proxier",
        (
            rule("list watch", "", "services endpoints"),
            rule(READ, "", "nodes"),
            EVENTS,
            rule("list watch", DISCOVERY, "endpointslices"),
            rule("list watch", NETWORKING, "servicecidrs"),
        ),
    ),
    Role("system:kube-scheduler", _SCHEDULER),
)

CLUSTER_BINDINGS: tuple[Binding, ...] = (
    Binding("cluster-admin", (group(MASTERS_GROUP),)),
    Binding("system:monitoring", (group("system:monitoring"),)),
    Binding("system:discovery", (group(AUTHENTICATED_GROUP),)),
    Binding("system:basic-user", (group(AUTHENTICATED_GROUP),)),
    Binding("system:public-info-viewer", (group(AUTHENTICATED_GROUP), group(UNAUTHENTICATED_GROUP))),
    Binding("system:node-proxier", (user("system:kube-proxy"),)),
    Binding("system:kube-controller-manager", (user("system:kube-controller-manager"),)),
    Binding("system:kube-dns", (account("kube-dns"),)),
    Binding("system:kube-scheduler", (user("system:kube-scheduler"),)),
    Binding("system:volume-scheduler", (user("system:kube-scheduler"),)),
    Binding("system:node", ()),
    Binding("system:service-account-issuer-discovery", (group("system:serviceaccounts"),)),
)
