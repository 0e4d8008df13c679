"""How definitions and operations are called, as clients know them from Kubernetes.

A definition is named after the Go package of its type (``io.k8s.api.core.v1.ConfigMap``), a custom kind after its
group in reverse (``com.example.v1.Widget``). An operation is named verb, group, version, and what it is about
(``listCoreV1NamespacedConfigMap``).

Source: kubernetes/apiserver ``pkg/endpoints/openapi``; kubernetes/apiextensions-apiserver ``pkg/controller/openapi``;
the names in kubernetes' published ``api/openapi-spec``.
"""

from __future__ import annotations

from functools import lru_cache

from controlplane.apimachinery.identity import GVK, GroupVersion

__all__ = ["INT_OR_STRING", "META", "QUANTITY", "RAW_EXTENSION", "go_type_name", "kind_name", "operation_names"]

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"

_GROUP_SUFFIX = ".k8s.io"
_PACKAGES = {
    "": "io.k8s.api.core",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "internal.apiserver.k8s.io": "io.k8s.api.apiserverinternal",
}
"""Native groups whose package is not ``io.k8s.api.`` and the first word of the group."""

_META_TYPES = frozenset(
    {
        "APIGroup",
        "APIResource",
        "Condition",
        "FieldSelectorRequirement",
        "FieldsV1",
        "GroupResource",
        "GroupVersionForDiscovery",
        "GroupVersionKind",
        "LabelSelector",
        "LabelSelectorRequirement",
        "ListMeta",
        "ManagedFieldsEntry",
        "MicroTime",
        "ObjectMeta",
        "OwnerReference",
        "Preconditions",
        "ServerAddressByClientCIDR",
        "StatusCause",
        "StatusDetails",
        "Time",
    }
)
_CORE_TYPES = frozenset(
    {
        "EventSource",
        "LocalObjectReference",
        "ObjectReference",
        "SecretReference",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
    }
)
"""Types of core/v1 that kinds of other groups are made of."""
_OTHER_TYPES = {
    "intstr.IntOrString": INT_OR_STRING,
    "resource.Quantity": QUANTITY,
    "runtime.RawExtension": RAW_EXTENSION,
}


def kind_name(gvk: GVK, *, native: bool) -> str:
    """The definition of a kind (or of its list, which is a kind too)."""
    return f"{_package(gvk.gv, native=native)}.{gvk.version}.{gvk.kind}"


def go_type_name(go_type: str, gv: GroupVersion, *, native: bool = True) -> str:
    """The definition of a type that kinds are made of.

    Args:
        go_type: with the last word of its package (``v1.LeaseSpec``), as in a native schema.
        gv: of the kind that it was met in.
    """
    if go_type in _OTHER_TYPES:
        return _OTHER_TYPES[go_type]
    package, _, name = go_type.rpartition(".")
    if package == "v1":
        if name in _META_TYPES:
            return META + name
        if name in _CORE_TYPES:
            return f"{_PACKAGES['']}.v1.{name}"
    return f"{_package(gv, native=native)}.{package or gv.version}.{name}"


def _package(gv: GroupVersion, *, native: bool) -> str:
    if native:
        if gv.group in _PACKAGES:
            return _PACKAGES[gv.group]
        if gv.group.endswith(_GROUP_SUFFIX) or "." not in gv.group:
            return f"io.k8s.api.{gv.group.partition('.')[0]}"
    return ".".join(reversed(gv.group.split(".")))


def operation_names(verb: str, rest: str, group: str | None, version: str = "") -> tuple[str, str]:
    """An operation's id and its tag.

    Args:
        verb: ``list``. rest: what follows in the id: ``NamespacedConfigMap``.
        group: None for what belongs to no group; then ``version`` is the tag.
    """
    if group is None:
        return verb + _identifier(rest, capital=True), _identifier(version)
    short = group.removesuffix(_GROUP_SUFFIX) or "core"
    tag = _identifier(short)
    if version:
        tag += f"_{_identifier(version)}"
    return "".join((verb, *(_identifier(part, capital=True) for part in (short, version, rest)))), tag


@lru_cache(maxsize=1024)
def _identifier(text: str, *, capital: bool = False) -> str:
    """``text`` without what an identifier cannot have; the letter after each gap is a capital."""
    if text.isidentifier() and text.isascii():
        return text[0].upper() + text[1:] if capital else text
    letters = []
    for index, letter in enumerate(text):
        if letter.isalpha() or letter == "_" or (index and letter.isdigit()):
            letters.append(letter.upper() if capital else letter)
            capital = False
        else:
            capital = True
    return "".join(letters)
