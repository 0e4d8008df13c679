import importlib
import pkgutil

from controlplane.plugins import admission
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.admission.unserved_content import PLUGIN as UNSERVED_CONTENT
from controlplane.plugins.builtin import ORDERED

UPSTREAM = tuple(
    """
    AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists LimitPodHardAntiAffinityTopology LimitRanger
    ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity
    PodNodeSelector Priority DefaultTolerationSeconds PodTolerationRestriction EventRateLimit
    ExtendedResourceToleration DefaultStorageClass StorageObjectInUseProtection PodGroupProtection
    OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize RuntimeClass CertificateApproval
    CertificateSigning ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass
    DenyServiceExternalIPs PodTopologyLabels PodGroupWorkloadExists NodeDeclaredFeatureValidator JobValidation
    PodResizeValidator MutatingAdmissionPolicy MutatingAdmissionWebhook ValidatingAdmissionPolicy
    ValidatingAdmissionWebhook ResourceQuota AlwaysDeny
    """.split()  # noqa: SIM905  # a list of forty lines says no more
)
"""The order of kubernetes' ``pkg/kubeapiserver/options/plugins.go``."""
OURS = (UNSERVED_CONTENT,)


def test_every_plugin_that_a_module_has_is_listed_once() -> None:
    found = []
    for info in pkgutil.walk_packages(admission.__path__, f"{admission.__name__}."):
        if not info.ispkg:
            module = importlib.import_module(info.name)
            found += [value for value in vars(module).values() if isinstance(value, AdmissionPlugin)]
    assert sorted(plugin.name for plugin in found) == sorted(plugin.name for plugin in ORDERED)


def test_plugins_run_in_the_order_of_upstream() -> None:
    names = [plugin.name for plugin in ORDERED if plugin not in OURS]
    assert names == [name for name in UPSTREAM if name in names]
