"""What the documents of discovery and ``/version`` are made of.

Source: the fields of kubernetes/apimachinery ``meta/v1`` (APIGroup, APIGroupList, APIResourceList, APIVersions) and
``version.Info``.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.schema.native import array, boolean, record, string
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import META
from controlplane.apiserver.openapi.native_schemas import NativeSchemas
from controlplane.apiserver.openapi.shared import GVK_EXTENSION, gvk_extension

__all__ = ["VERSION", "discovery_definitions", "version_definition"]

_ADDRESS = record(
    {
        "clientCIDR": string("Where a client must come from for the address to be its own."),
        "serverAddress": string("Host and port, or one of them."),
    },
    "The address by which some clients reach the server.",
    go_type="v1.ServerAddressByClientCIDR",
    required=("clientCIDR", "serverAddress"),
)
_GROUP_VERSION = record(
    {"groupVersion": string("group/version."), "version": string("The version alone.")},
    "One version of a group.",
    go_type="v1.GroupVersionForDiscovery",
    required=("groupVersion", "version"),
)
_GROUP = record(
    {
        "name": string("Name of the group."),
        "versions": array(_GROUP_VERSION, "The versions that are served."),
        "preferredVersion": {**_GROUP_VERSION, "description": "The version to use by those who have no wish."},
        "serverAddressByClientCIDRs": array(_ADDRESS, "Addresses of the server."),
    },
    "A group of resources.",
    go_type="v1.APIGroup",
    required=("name", "versions"),
)
_RESOURCE = record(
    {
        "name": string("Plural name, with a slash and the subresource if it is one."),
        "singularName": string("Singular name."),
        "namespaced": boolean("Whether its objects are in namespaces."),
        "group": string("Group of the kind, if it is another than the resource's."),
        "version": string("Version of the kind, if it is another than the resource's."),
        "kind": string("Kind of its objects."),
        "verbs": array(string(), "What can be done with it."),
        "shortNames": array(string(), "Names that are quicker to type."),
        "categories": array(string(), "Groups of resources that it is shown with, such as all."),
        "storageVersionHash": string("Changes when objects are stored in another form."),
    },
    "One resource or subresource.",
    go_type="v1.APIResource",
    required=("name", "singularName", "namespaced", "kind", "verbs"),
)
_DISCOVERY: Mapping[str, Obj] = {
    "APIGroup": _GROUP,
    "APIGroupList": record(
        {"groups": array(_GROUP, "The groups.")}, "All groups but the core group.", required=("groups",)
    ),
    "APIResourceList": record(
        {
            "groupVersion": string("Group and version that the resources are of."),
            "resources": array(_RESOURCE, "The resources."),
        },
        "The resources of one group and version.",
        required=("groupVersion", "resources"),
    ),
    "APIVersions": record(
        {
            "versions": array(string(), "The versions."),
            "serverAddressByClientCIDRs": array(_ADDRESS, "Addresses of the server."),
        },
        "The versions of the core group.",
        required=("versions", "serverAddressByClientCIDRs"),
    ),
}
_VERSION_FIELDS = (
    "major",
    "minor",
    "emulationMajor",
    "emulationMinor",
    "minCompatibilityMajor",
    "minCompatibilityMinor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)
VERSION = "io.k8s.apimachinery.pkg.version.Info"
_VERSION = record({name: string() for name in _VERSION_FIELDS}, "The version of the server.")


def discovery_definitions(dialect: Dialect, name: str) -> dict[str, Obj]:
    """One kind of discovery (``APIGroup``, ``APIGroupList``, ``APIResourceList``, ``APIVersions``) and its parts."""
    schemas = NativeSchemas(GroupVersion("", "v1"), dialect)
    kind = schemas.kind(_DISCOVERY[name], metadata=False)
    kind[GVK_EXTENSION] = gvk_extension([GVK("", "v1", name)])
    return {**schemas.found, META + name: kind}


def version_definition(dialect: Dialect) -> dict[str, Obj]:
    """What ``/version`` answers."""
    return {VERSION: NativeSchemas(GroupVersion("", "v1"), dialect).record(_VERSION)}
