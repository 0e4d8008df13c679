"""The schema of a CustomResourceDefinition, in the one version that is served: v1.

Source: the fields of kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/v1``.
"""

from __future__ import annotations

from controlplane.apiextensions.definition.json_schema import json_schema
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import (
    array,
    binary,
    boolean,
    integer,
    pointer,
    record,
    recursive,
    string,
    time,
)

__all__ = ["CLIENT_CONFIG", "DEFINITION_SCHEMA"]


_NAMES = record(
    {
        "plural": string("The name in URLs; the definition is named <plural>.<group>."),
        "singular": string("The name for people; the kind in lower case by default."),
        "shortNames": array(string(), "Abbreviations that clients understand."),
        "kind": string("The kind of the objects."),
        "listKind": string("The kind of lists; the kind with List at its end by default."),
        "categories": array(string(), "Groups of resources, such as all, that clients understand."),
    },
    "The names of a resource.",
    go_type="v1.CustomResourceDefinitionNames",
    required=("plural", "kind"),
)

_COLUMN = record(
    {
        "name": string("The column's heading."),
        "type": string("boolean, date, integer, number or string."),
        "format": string("How clients show the value."),
        "description": string("What the column shows."),
        "priority": integer("Columns above 0 are shown only where there is room."),
        "jsonPath": string("Where the value is found in the object."),
    },
    "One column of the table that people are shown.",
    go_type="v1.CustomResourceColumnDefinition",
    required=("name", "type", "jsonPath"),
)

_SCALE = record(
    {
        "specReplicasPath": string("Where the number of replicas that is wanted is found, below .spec."),
        "statusReplicasPath": string("Where the number of replicas that there are is found, below .status."),
        "labelSelectorPath": pointer(string("Where the selector of the replicas is found, below .spec or .status.")),
    },
    "How the scale of an object is found.",
    go_type="v1.CustomResourceSubresourceScale",
    required=("specReplicasPath", "statusReplicasPath"),
)

_VERSION = record(
    {
        "name": string("The version's name in URLs."),
        "served": boolean("Whether it is served."),
        "storage": boolean("Whether objects are stored in it; exactly one version is true."),
        "deprecated": boolean("Whether those who use it are warned."),
        "deprecationWarning": pointer(string("What they are told.")),
        "schema": pointer(
            record(
                {"openAPIV3Schema": pointer(recursive(json_schema, "The schema of the objects."))},
                "What objects look like.",
                go_type="v1.CustomResourceValidation",
            )
        ),
        "subresources": pointer(
            record(
                {
                    "status": pointer(
                        record(
                            {},
                            "Given: the status is changed by a path of its own.",
                            go_type="v1.CustomResourceSubresourceStatus",
                        )
                    ),
                    "scale": pointer(_SCALE),
                },
                "The parts of objects that have a path of their own.",
                go_type="v1.CustomResourceSubresources",
            )
        ),
        "additionalPrinterColumns": array(_COLUMN, "Columns after the name; the age by default."),
        "selectableFields": array(
            record(
                {"jsonPath": string("Where the field is found.")},
                "A field that selectors may name.",
                go_type="v1.SelectableField",
                required=("jsonPath",),
            ),
            "Fields that selectors may name.",
        ),
    },
    "One version of the resource.",
    go_type="v1.CustomResourceDefinitionVersion",
    required=("name", "served", "storage"),
)

CLIENT_CONFIG = record(
    {
        "url": pointer(string("Where the webhook is, outside the cluster.")),
        "service": pointer(
            record(
                {
                    "namespace": string("The service's namespace."),
                    "name": string("The service's name."),
                    "path": pointer(string("The path of the request.")),
                    "port": pointer(integer("The service's port; 443 by default.")),
                },
                "Where the webhook is, as a service.",
                go_type="v1.ServiceReference",
                required=("namespace", "name"),
            )
        ),
        "caBundle": binary("The certificates that the webhook's is verified by, in PEM."),
    },
    "How the webhook is reached.",
    go_type="v1.WebhookClientConfig",
)

_CONVERSION = record(
    {
        "strategy": string(
            "None: versions differ by name alone. Webhook: a webhook converts.", go_type="v1.ConversionStrategyType"
        ),
        "webhook": pointer(
            record(
                {
                    "clientConfig": pointer(CLIENT_CONFIG),
                    "conversionReviewVersions": array(string(), "The versions of ConversionReview it understands."),
                },
                "The webhook.",
                go_type="v1.WebhookConversion",
                required=("conversionReviewVersions",),
            )
        ),
    },
    "How objects are converted between versions.",
    go_type="v1.CustomResourceConversion",
    required=("strategy",),
)

_SPEC = record(
    {
        "group": string("The group of the resource."),
        "names": _NAMES,
        "scope": string("Namespaced or Cluster.", go_type="v1.ResourceScope"),
        "versions": pointer(array(_VERSION, "The versions of the resource.")),
        "conversion": pointer(_CONVERSION),
        "preserveUnknownFields": boolean("Must be false; an old way to keep fields that the schema does not name."),
    },
    "What the resource is.",
    go_type="v1.CustomResourceDefinitionSpec",
    required=("group", "names", "scope", "versions"),
)

_CONDITION = record(
    {
        "type": string("What the condition is about.", go_type="v1.CustomResourceDefinitionConditionType"),
        "status": string("True, False or Unknown.", go_type="v1.ConditionStatus"),
        "lastTransitionTime": time("When the status last changed."),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
        "observedGeneration": integer("The generation of the definition that the condition is about.", bits=64),
    },
    "One aspect of a definition's state.",
    go_type="v1.CustomResourceDefinitionCondition",
    required=("type", "status"),
)

_STATUS = record(
    {
        "conditions": array(_CONDITION, "The aspects of the definition's state.", key=("type",)),
        "acceptedNames": _NAMES,
        "storedVersions": array(string(), "All versions in which objects may be stored."),
        "observedGeneration": integer("The generation of the definition that the status is about.", bits=64),
    },
    "What has become of the definition.",
    go_type="v1.CustomResourceDefinitionStatus",
    required=("conditions", "acceptedNames", "storedVersions"),
)

DEFINITION_SCHEMA: Obj = record(
    {"spec": _SPEC, "status": _STATUS},
    "Defines a resource that is served as if it were built in.",
    go_type="v1.CustomResourceDefinition",
    required=("spec",),
)
