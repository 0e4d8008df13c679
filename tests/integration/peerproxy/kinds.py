"""The kinds of two versions of a program: A serves widgets in v1 and v1beta1, B in v1 alone and gadgets, which A does
not know."""

from __future__ import annotations

from controlplane.apiextensions.custom.resource import CustomResources
from controlplane.apimachinery.identity import GVR, Obj
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare

__all__ = ["BETA_WIDGETS", "GADGETS", "WIDGETS", "serve_a", "serve_b"]

WIDGETS = GVR("factory.example.org", "v1", "widgets")
BETA_WIDGETS = GVR("factory.example.org", "v1beta1", "widgets")
GADGETS = GVR("tools.example.org", "v1", "gadgets")

_SCHEMA: Obj = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}},
}


def _widgets(*versions: str) -> CustomResources:
    several = [Version(name=name, schema=_SCHEMA) for name in versions]
    return declare("Widget", group=WIDGETS.group, versions=several, storage_version="v1", short_names=("wd",))


def serve_a(config: Config) -> None:
    config.declared.append(_widgets("v1", "v1beta1"))


def serve_b(config: Config) -> None:
    config.declared += [
        _widgets("v1"),
        declare("Gadget", group=GADGETS.group, versions=Version(name="v1", schema=_SCHEMA)),
    ]
