"""Two versions of a control plane: the old one serves widgets in v1, the new one in v2 too, and gadgets."""

from __future__ import annotations

from controlplane.apimachinery.identity import GVR, Obj
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.testing.fleet import LoadedKind

__all__ = ["CONFIGMAPS", "GADGETS", "LOADED", "WIDGETS", "WIDGETS_V2", "new", "old"]

CONFIGMAPS = GVR("", "v1", "configmaps")
WIDGETS, WIDGETS_V2 = (GVR("factory.example.org", version, "widgets") for version in ("v1", "v2"))
GADGETS = GVR("tools.example.org", "v1", "gadgets")
SCHEMA: Obj = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}},
}
LOADED = (
    LoadedKind(gvr=CONFIGMAPS, sample={"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}),
    LoadedKind(
        gvr=WIDGETS, sample={"apiVersion": "factory.example.org/v1", "kind": "Widget", "spec": {"color": "red"}}
    ),
)


def _widgets(config: Config, *versions: str) -> None:
    several = [Version(name=name, schema=SCHEMA) for name in versions]
    config.declared.append(declare("Widget", group=WIDGETS.group, versions=several, storage_version="v1"))


def old(config: Config) -> None:
    _widgets(config, "v1")


def new(config: Config) -> None:
    _widgets(config, "v1", "v2")
    config.declared.append(declare("Gadget", group=GADGETS.group, versions=Version(name="v1", schema=SCHEMA)))
