import pytest

from controlplane.apimachinery.identity import GVK, GroupVersion
from controlplane.apiserver.openapi.names import go_type_name, kind_name, operation_names

NATIVE = {
    GVK("", "v1", "ConfigMap"): "io.k8s.api.core.v1.ConfigMap",
    GVK("coordination.k8s.io", "v1", "Lease"): "io.k8s.api.coordination.v1.Lease",
    GVK("rbac.authorization.k8s.io", "v1", "Role"): "io.k8s.api.rbac.v1.Role",
    GVK("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): "io.k8s.api.flowcontrol.v1.FlowSchema",
    GVK("apps", "v1", "DeploymentList"): "io.k8s.api.apps.v1.DeploymentList",
    GVK("internal.apiserver.k8s.io", "v1alpha1", "StorageVersion"): (
        "io.k8s.api.apiserverinternal.v1alpha1.StorageVersion"
    ),
    GVK("apiregistration.k8s.io", "v1", "APIService"): "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
    GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    ),
    GVK("shop.example.com", "v1", "Widget"): "com.example.shop.v1.Widget",
}


@pytest.mark.parametrize(("gvk", "name"), NATIVE.items(), ids=str)
def test_native_kinds_are_named_after_their_go_packages(gvk: GVK, name: str) -> None:
    assert kind_name(gvk, native=True) == name


def test_custom_kinds_are_named_after_their_group_in_reverse() -> None:
    assert kind_name(GVK("stable.example.com", "v1", "CronTab"), native=False) == "com.example.stable.v1.CronTab"
    assert kind_name(GVK("gateway.networking.k8s.io", "v1", "Gateway"), native=False) == (
        "io.k8s.networking.gateway.v1.Gateway"
    )


@pytest.mark.parametrize(
    ("go_type", "name"),
    [
        ("v1.LeaseSpec", "io.k8s.api.coordination.v1.LeaseSpec"),
        ("v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
        ("v1.MicroTime", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"),
        ("v1.ObjectReference", "io.k8s.api.core.v1.ObjectReference"),
        ("resource.Quantity", "io.k8s.apimachinery.pkg.api.resource.Quantity"),
        ("intstr.IntOrString", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
    ],
)
def test_types_are_named_after_their_go_packages(go_type: str, name: str) -> None:
    assert go_type_name(go_type, GroupVersion("coordination.k8s.io", "v1")) == name


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("list", "NamespacedConfigMap", "", "v1"), ("listCoreV1NamespacedConfigMap", "core_v1")),
        (
            ("replace", "NamespaceFinalize", "", "v1"),
            ("replaceCoreV1NamespaceFinalize", "core_v1"),
        ),
        (
            ("read", "NamespacedLease", "coordination.k8s.io", "v1"),
            ("readCoordinationV1NamespacedLease", "coordination_v1"),
        ),
        (
            ("create", "FlowSchema", "flowcontrol.apiserver.k8s.io", "v1"),
            ("createFlowcontrolApiserverV1FlowSchema", "flowcontrolApiserver_v1"),
        ),
        (
            ("patch", "NamespacedCronTabStatus", "stable.example.com", "v1"),
            ("patchStableExampleComV1NamespacedCronTabStatus", "stableExampleCom_v1"),
        ),
        (("get", "APIVersions", None, "apis"), ("getAPIVersions", "apis")),
        (("get", "APIGroup", "apps"), ("getAppsAPIGroup", "apps")),
        (("get", "CodeVersion", None, "version"), ("getCodeVersion", "version")),
    ],
    ids=lambda value: str(value[0]),
)
def test_operations_are_named_as_kubernetes_does(given: tuple[str, ...], names: tuple[str, str]) -> None:
    assert operation_names(*given) == names
