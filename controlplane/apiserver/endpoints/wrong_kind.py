"""Why an object of another kind than the due one is refused, as upstream's decoders say it: what they know, served or
not, can only not be converted; what they do not know has no type.

Source: kubernetes/apimachinery ``pkg/runtime`` (scheme.go, error.go), the registrations in kubernetes/api
``*/register.go``, and what each API server's scheme holds.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GVK

__all__ = ["no_delete_options", "wrong_kind"]

_WEBHOOKS = "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
_POLICIES = (
    "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
)
_ACCESS_REVIEWS = (
    "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"  # of two versions
)
_ROLES = "ClusterRole ClusterRoleBinding Role RoleBinding"
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_CLAIMS = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_VOLUMES = "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"

_KUBERNETES = {
    "v1": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange List Namespace Node NodeProxyOptions "
    "PersistentVolume PersistentVolumeClaim Pod PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions "
    "PodProxyOptions PodStatusResult PodTemplate RangeAllocation ReplicationController ResourceQuota Secret "
    "SerializedReference Service ServiceAccount ServiceProxyOptions",
    "admissionregistration.k8s.io/v1": f"{_POLICIES} {_WEBHOOKS}",
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": f"{_POLICIES} {_WEBHOOKS}",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "apps/v1beta1": "ControllerRevision Deployment DeploymentRollback Scale StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1": _ACCESS_REVIEWS,
    "authorization.k8s.io/v1beta1": _ACCESS_REVIEWS,
    "autoscaling/v1": "HorizontalPodAutoscaler Scale",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "certificates.k8s.io/v1alpha1": "ClusterTrustBundle",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
    "coordination.k8s.io/v1": "Lease",
    "coordination.k8s.io/v1alpha2": "LeaseCandidate",
    "coordination.k8s.io/v1beta1": "Lease LeaseCandidate",
    "discovery.k8s.io/v1": "EndpointSlice",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy ReplicaSet Scale",
    "flowcontrol.apiserver.k8s.io/v1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "internal.apiserver.k8s.io/v1alpha1": "StorageVersion",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
    "node.k8s.io/v1": "RuntimeClass",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1": "Eviction PodDisruptionBudget",
    "policy/v1beta1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": _ROLES,
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "resource.k8s.io/v1": _CLAIMS,
    "resource.k8s.io/v1alpha3": "DeviceTaintRule ResourcePoolStatusRequest",
    "resource.k8s.io/v1beta1": _CLAIMS,
    "resource.k8s.io/v1beta2": f"DeviceTaintRule {_CLAIMS}",
    "scheduling.k8s.io/v1": "PriorityClass",
    "scheduling.k8s.io/v1alpha2": "PodGroup Workload",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1": _VOLUMES,
    "storage.k8s.io/v1alpha1": "CSIStorageCapacity VolumeAttachment VolumeAttributesClass",
    "storage.k8s.io/v1beta1": _VOLUMES,
    "storagemigration.k8s.io/v1beta1": "StorageVersionMigration",
}
_DEFINITIONS = dict.fromkeys(
    ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"), "ConversionReview CustomResourceDefinition"
)
_SERVICES = dict.fromkeys(("apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1beta1"), "APIService")

_SCHEMES = {
    "apiextensions.k8s.io": ("pkg/apiserver/apiserver.go:55", _DEFINITIONS),
    "apiregistration.k8s.io": ("pkg/apiserver/scheme/scheme.go:28", _SERVICES),
}
_LEGACY = "pkg/api/legacyscheme/scheme.go:30", _KUBERNETES
"""The scheme that all other kinds of Kubernetes share; schemes are named by the place where they are made."""

_META = "pkg/apis/meta/internalversion/scheme/register.go:27"
"""The scheme that options are read by."""
_META_KINDS = dict.fromkeys(("meta.k8s.io/v1", "meta.k8s.io/v1beta1"), "PartialObjectMetadata Table TableOptions")

_ANYWHERE = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
_OPTIONS = frozenset({"CreateOptions", "DeleteOptions", "UpdateOptions"})
_IN_EACH_VERSION = _OPTIONS | {"GetOptions", "ListOptions", "PatchOptions", "WatchEvent"}
_EVENT_GROUPS = frozenset({"", "events.k8s.io"})
_PACKAGES = {"": "core", "events.k8s.io": "core", "internal.apiserver.k8s.io": "apiserverinternal"}


def wrong_kind(given: GVK, served: GVK, *, whole: bool) -> str:
    """Why an object that says it is ``given`` is none of the ``served`` kind. ``whole``: with the words around it that
    a body gets."""
    scheme, kinds = _SCHEMES.get(served.group, _LEGACY)
    known = given.kind in _ANYWHERE or given == served or _is_known(given, kinds)
    if known and _is_other_form(given, served):
        return (
            f"the API version in the data ({given.api_version}) does not match the expected API version "
            f"({served.api_version})"
        )
    why = _unconverted(given, f"{_package_of(served)}.{served.kind}") if known else _unknown(given, scheme)
    if whole:
        why = f'{given.kind} in version "{given.version}" cannot be handled as a {served.kind}: {why}'
    return why


def no_delete_options(given: GVK) -> str:
    """Why an object is none of delete options, which are known in whatever version."""
    known = given.kind in _ANYWHERE or given.kind in _OPTIONS or _is_known(given, _META_KINDS)
    return _unconverted(given, "v1.DeleteOptions") if known else _unknown(given, _META)


def _is_known(given: GVK, kinds: dict[str, str]) -> bool:
    of_version = kinds.get(given.api_version)
    if of_version is None:
        return False
    return given.kind in _IN_EACH_VERSION or given.kind.removesuffix("List") in of_version.split()


def _is_other_form(given: GVK, served: GVK) -> bool:
    """Whether a known kind is the served one in another version. Events are one kind in two groups."""
    if given.kind != served.kind:
        return False
    return given.group == served.group or (given.kind == "Event" and {given.group, served.group} == _EVENT_GROUPS)


def _unconverted(given: GVK, due: str) -> str:
    version = "v1" if given.kind in _ANYWHERE or given.kind in _IN_EACH_VERSION else given.version
    return f"converting ({version}.{given.kind}) to ({due}): unknown conversion"


def _unknown(given: GVK, scheme: str) -> str:
    return f'no kind "{given.kind}" is registered for version "{given.api_version}" in scheme "{scheme}"'


def _package_of(gvk: GVK) -> str:
    """The package of upstream's unversioned types of a group."""
    return _PACKAGES.get(gvk.group) or gvk.group.partition(".")[0]
