"""A custom resource that the clients are tried on."""

from __future__ import annotations

from typing import Any

__all__ = ["COLLECTION", "DEFINITION", "DEFINITIONS", "GROUP", "widget"]

GROUP = "example.org"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/default/widgets"

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"color": {"type": "string"}}},
                            "status": {"type": "object", "properties": {"painted": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


def widget(name: str, color: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"color": color},
    }
