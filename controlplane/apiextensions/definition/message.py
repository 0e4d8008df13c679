"""The protobuf message of a CustomResourceDefinition.

Source: field numbers of kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/v1/generated.proto``.
"""

from __future__ import annotations

from controlplane.apiextensions.definition.schema import DEFINITION_SCHEMA
from controlplane.apimachinery.codec.messages import message_of

__all__ = ["DEFINITION_MESSAGE"]

DEFINITION_MESSAGE = message_of(
    DEFINITION_SCHEMA,
    {
        "CustomResourceDefinition": "metadata spec status",
        "CustomResourceDefinitionSpec": "group - names scope - - versions - conversion preserveUnknownFields",
        "CustomResourceDefinitionNames": "plural singular shortNames kind listKind categories",
        "CustomResourceDefinitionVersion": (
            "name served storage schema subresources additionalPrinterColumns deprecated deprecationWarning "
            "selectableFields"
        ),
        "CustomResourceValidation": "openAPIV3Schema",
        "CustomResourceSubresources": "status scale",
        "CustomResourceSubresourceStatus": "",
        "CustomResourceSubresourceScale": "specReplicasPath statusReplicasPath labelSelectorPath",
        "CustomResourceColumnDefinition": "name type format description priority jsonPath",
        "SelectableField": "jsonPath",
        "CustomResourceConversion": "strategy webhook",
        "WebhookConversion": "- clientConfig conversionReviewVersions",
        "WebhookClientConfig": "service caBundle url",
        "ServiceReference": "namespace name path port",
        "CustomResourceDefinitionStatus": "conditions acceptedNames storedVersions observedGeneration",
        "CustomResourceDefinitionCondition": "type status lastTransitionTime reason message observedGeneration",
        "JSONSchemaProps": (
            "id $schema $ref description type format title default maximum exclusiveMaximum minimum exclusiveMinimum "
            "maxLength minLength pattern maxItems minItems uniqueItems multipleOf enum maxProperties minProperties "
            "required items allOf oneOf anyOf not properties additionalProperties patternProperties dependencies "
            "additionalItems definitions externalDocs example nullable x-kubernetes-preserve-unknown-fields "
            "x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-list-map-keys "
            "x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-validations"
        ),
        "ExternalDocumentation": "description url",
        "ValidationRule": "rule message messageExpression reason fieldPath optionalOldSelf",
    },
)
