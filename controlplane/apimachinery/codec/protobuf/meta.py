"""The messages of meta.k8s.io, which all kinds share: metadata, options, statuses, metadata alone, discovery.

Source: field numbers of kubernetes/apimachinery ``pkg/apis/meta/v1/generated.proto`` and ``v1beta1``, kubernetes/api
``apidiscovery/v2/generated.proto``.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.protobuf.message import Field, Message, list_message
from controlplane.apimachinery.codec.protobuf.scalars import FLAG, INT32, INT64, RAW_JSON, TEXT, TIME, Scalar

__all__ = ["DELETE_OPTIONS", "LIST_META", "OBJECT_META", "SHARED"]


def _texts(names: str, *, kept: bool = False) -> dict[int, Field]:
    """Fields of text, numbered from 1; ``-`` is a number that is not used."""
    return {at: Field(name, TEXT, kept=kept) for at, name in enumerate(names.split(), 1) if name != "-"}


def _many(name: str, kind: Scalar | Message) -> Field:
    return Field(name, kind, many=True)


_OWNER_REFERENCE = Message(
    "OwnerReference",
    {
        1: Field("kind", TEXT),
        3: Field("name", TEXT),
        4: Field("uid", TEXT),
        5: Field("apiVersion", TEXT),
        6: Field("controller", FLAG, kept=True),
        7: Field("blockOwnerDeletion", FLAG, kept=True),
    },
)
_MANAGED_FIELDS = Message(
    "ManagedFieldsEntry",
    {
        **_texts("manager operation apiVersion - - fieldsType - subresource"),
        4: Field("time", TIME, kept=True),
        7: Field("fieldsV1", RAW_JSON, kept=True),
    },
)
OBJECT_META = Message(
    "ObjectMeta",
    {
        **_texts("name generateName namespace selfLink uid resourceVersion"),
        7: Field("generation", INT64),
        8: Field("creationTimestamp", TIME),
        9: Field("deletionTimestamp", TIME, kept=True),
        10: Field("deletionGracePeriodSeconds", INT64, kept=True),
        11: Field("labels", TEXT, pairs=True),
        12: Field("annotations", TEXT, pairs=True),
        13: _many("ownerReferences", _OWNER_REFERENCE),
        14: _many("finalizers", TEXT),
        17: _many("managedFields", _MANAGED_FIELDS),
    },
)
LIST_META = Message(
    "ListMeta",
    {
        **_texts("selfLink resourceVersion continue"),
        4: Field("remainingItemCount", INT64, kept=True),
    },
)
DELETE_OPTIONS = Message(
    "DeleteOptions",
    {
        1: Field("gracePeriodSeconds", INT64, kept=True),
        2: Field("preconditions", Message("Preconditions", _texts("uid resourceVersion", kept=True)), kept=True),
        3: Field("orphanDependents", FLAG, kept=True),
        4: Field("propagationPolicy", TEXT, kept=True),
        5: _many("dryRun", TEXT),
        6: Field("ignoreStoreReadErrorWithClusterBreakingPotential", FLAG, kept=True),
    },
)
_STATUS_DETAILS = Message(
    "StatusDetails",
    {
        **_texts("name group kind - - uid"),
        4: _many("causes", Message("StatusCause", _texts("reason message field"))),
        5: Field("retryAfterSeconds", INT32),
    },
)
_STATUS = Message(
    "Status",
    {
        1: Field("metadata", LIST_META),
        **_texts("- status message reason"),
        5: Field("details", _STATUS_DETAILS, kept=True),
        6: Field("code", INT32),
    },
)
_PARTIAL_METADATA = Message("PartialObjectMetadata", {1: Field("metadata", OBJECT_META)})

_ADDRESSES = _many(
    "serverAddressByClientCIDRs", Message("ServerAddressByClientCIDR", _texts("clientCIDR serverAddress"))
)
_VERSION = Message("GroupVersionForDiscovery", _texts("groupVersion version"))
_GROUP = Message(
    "APIGroup",
    {1: Field("name", TEXT), 2: _many("versions", _VERSION), 3: Field("preferredVersion", _VERSION), 4: _ADDRESSES},
)
_RESOURCE = Message(
    "APIResource",
    {
        **_texts("name - kind - - singularName - group version storageVersionHash"),
        2: Field("namespaced", FLAG),
        4: Field("verbs", list_message("Verbs", TEXT), kept=True),
        5: _many("shortNames", TEXT),
        7: _many("categories", TEXT),
    },
)
_RESOURCES = Message("APIResourceList", {1: Field("groupVersion", TEXT), 2: _many("resources", _RESOURCE)})
_GROUP_VERSION_KIND = Message("GroupVersionKind", _texts("group version kind"))
_SUBRESOURCE_DISCOVERY = Message(
    "APISubresourceDiscovery",
    {
        1: Field("subresource", TEXT),
        2: Field("responseKind", _GROUP_VERSION_KIND, kept=True),
        3: _many("acceptedTypes", _GROUP_VERSION_KIND),
        4: _many("verbs", TEXT),
    },
)
_RESOURCE_DISCOVERY = Message(
    "APIResourceDiscovery",
    {
        **_texts("resource - scope singularResource"),
        2: Field("responseKind", _GROUP_VERSION_KIND, kept=True),
        5: _many("verbs", TEXT),
        6: _many("shortNames", TEXT),
        7: _many("categories", TEXT),
        8: _many("subresources", _SUBRESOURCE_DISCOVERY),
    },
)
_VERSION_DISCOVERY = Message(
    "APIVersionDiscovery", {**_texts("version - freshness"), 2: _many("resources", _RESOURCE_DISCOVERY)}
)
_GROUP_DISCOVERY = Message(
    "APIGroupDiscovery", {1: Field("metadata", OBJECT_META), 2: _many("versions", _VERSION_DISCOVERY)}
)

SHARED: dict[tuple[str, str], Message] = {
    ("v1", "Status"): _STATUS,
    ("", "APIVersions"): Message("APIVersions", {1: _many("versions", TEXT), 2: _ADDRESSES}),
    ("v1", "APIGroupList"): Message("APIGroupList", {1: _many("groups", _GROUP)}),
    ("v1", "APIGroup"): _GROUP,
    ("v1", "APIResourceList"): _RESOURCES,
    ("", "APIResourceList"): _RESOURCES,
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"): Message(
        "APIGroupDiscoveryList", {1: Field("metadata", LIST_META), 2: _many("items", _GROUP_DISCOVERY)}
    ),
    ("meta.k8s.io/v1", "PartialObjectMetadata"): _PARTIAL_METADATA,
    ("meta.k8s.io/v1beta1", "PartialObjectMetadata"): _PARTIAL_METADATA,
    ("meta.k8s.io/v1", "PartialObjectMetadataList"): Message(
        "PartialObjectMetadataList", {1: Field("metadata", LIST_META), 2: _many("items", _PARTIAL_METADATA)}
    ),
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"): Message(
        "PartialObjectMetadataList", {1: _many("items", _PARTIAL_METADATA), 2: Field("metadata", LIST_META)}
    ),
}
"""What an API server answers with besides the objects of its resources, by apiVersion and kind."""
