"""What is said of an object of another kind: does it matter whether Kubernetes knows that kind?"""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import GVK
from controlplane.apiserver.endpoints.wrong_kind import no_delete_options, wrong_kind

CONFIG_MAP = GVK("", "v1", "ConfigMap")
LEASE = GVK("coordination.k8s.io", "v1", "Lease")
EVENT = GVK("events.k8s.io", "v1", "Event")
DEFINITION = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
NO_KIND = 'no kind "{}" is registered for version "{}" in scheme "{}"'
LEGACY = "pkg/api/legacyscheme/scheme.go:30"


@pytest.mark.parametrize(
    ("given", "served", "why"),
    [
        (GVK("", "v1", "configmap"), CONFIG_MAP, NO_KIND.format("configmap", "v1", LEGACY)),
        (GVK("", "v2", "ConfigMap"), CONFIG_MAP, NO_KIND.format("ConfigMap", "v2", LEGACY)),
        (GVK("", "v1", "Lease"), LEASE, NO_KIND.format("Lease", "v1", LEGACY)),
        (GVK("", "v1", "Secret"), DEFINITION, NO_KIND.format("Secret", "v1", "pkg/apiserver/apiserver.go:55")),
        (GVK("", "v1", "Pod"), CONFIG_MAP, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        (GVK("", "v1", "PodList"), CONFIG_MAP, "converting (v1.PodList) to (core.ConfigMap): unknown conversion"),
        (GVK("apps", "v1beta1", "Scale"), EVENT, "converting (v1beta1.Scale) to (core.Event): unknown conversion"),
        (GVK("x", "v9", "Status"), LEASE, "converting (v1.Status) to (coordination.Lease): unknown conversion"),
    ],
)
def test_what_is_known_cannot_be_converted_and_what_is_not_has_no_type(given: GVK, served: GVK, why: str) -> None:
    assert wrong_kind(given, served, whole=False) == why
    within = f'{given.kind} in version "{given.version}" cannot be handled as a {served.kind}: {why}'
    assert wrong_kind(given, served, whole=True) == within


@pytest.mark.parametrize(
    ("given", "served"),
    [
        (GVK("coordination.k8s.io", "v1beta1", "Lease"), LEASE),
        (GVK("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"), DEFINITION),
        (GVK("", "v1", "Event"), EVENT),
        (EVENT, GVK("", "v1", "Event")),
    ],
)
def test_another_version_of_the_same_kind_is_told_by_its_version(given: GVK, served: GVK) -> None:
    assert wrong_kind(given, served, whole=True) == (
        f"the API version in the data ({given.api_version}) does not match the expected API version "
        f"({served.api_version})"
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            GVK("meta.k8s.io", "v1", "Foo"),
            NO_KIND.format("Foo", "meta.k8s.io/v1", "pkg/apis/meta/internalversion/scheme/register.go:27"),
        ),
        (GVK("", "v1", "APIResourceList"), "converting (v1.APIResourceList) to (v1.DeleteOptions): unknown conversion"),
        (GVK("x", "v3", "UpdateOptions"), "converting (v1.UpdateOptions) to (v1.DeleteOptions): unknown conversion"),
        (
            GVK("meta.k8s.io", "v1beta1", "Table"),
            "converting (v1beta1.Table) to (v1.DeleteOptions): unknown conversion",
        ),
    ],
)
def test_what_is_no_delete_options(given: GVK, why: str) -> None:
    assert no_delete_options(given) == why
