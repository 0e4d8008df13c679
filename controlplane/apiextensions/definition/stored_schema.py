"""The schema of a CustomResourceDefinition as it is stored, in v1beta1: what its versions have alike is said once.

Source: the fields of kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/v1beta1``.
"""

from __future__ import annotations

from controlplane.apiextensions.definition.schema import CLIENT_CONFIG, DEFINITION_SCHEMA
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, pointer, record, string

__all__ = ["STORED_SCHEMA"]

_SPEC = DEFINITION_SCHEMA["properties"]["spec"]
_VERSION = _SPEC["properties"]["versions"]["items"]
_COLUMN = _VERSION["properties"]["additionalPrinterColumns"]["items"]


def _renamed(name: str) -> str:
    return "JSONPath" if name == "jsonPath" else name


_COLUMNS = array(
    {
        **_COLUMN,
        "properties": {_renamed(name): field for name, field in _COLUMN["properties"].items()},
        "required": [_renamed(name) for name in _COLUMN["required"]],
    }
)

_CONVERSION = record(
    {
        "strategy": string(go_type="v1beta1.ConversionStrategyType"),
        "webhookClientConfig": pointer(CLIENT_CONFIG),
        "conversionReviewVersions": array(string()),
    },
    go_type="v1beta1.CustomResourceConversion",
    required=("strategy",),
)

STORED_SCHEMA: Obj = {
    **DEFINITION_SCHEMA,
    "properties": {
        **DEFINITION_SCHEMA["properties"],
        "spec": {
            **_SPEC,
            "properties": {
                **_SPEC["properties"],
                "version": string(),
                "versions": array(
                    {**_VERSION, "properties": {**_VERSION["properties"], "additionalPrinterColumns": _COLUMNS}}
                ),
                "validation": _VERSION["properties"]["schema"],
                "subresources": _VERSION["properties"]["subresources"],
                "additionalPrinterColumns": _COLUMNS,
                "selectableFields": _VERSION["properties"]["selectableFields"],
                "conversion": pointer(_CONVERSION),
            },
            "required": [name for name in _SPEC["required"] if name != "versions"],
        },
    },
}
