"""The scale subresource: an autoscaling/v1 Scale, made from fields of the object and written back to one of them.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresource/etcd.go`` (ScaleREST).
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apiextensions.custom.paths import NestedTypeError, nested_int, nested_text, set_nested
from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.projected_fields import ProjectedField
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion
from controlplane.apimachinery.schema.native import integer, record, string
from controlplane.apimachinery.status import bad_request, internal_error, unknown_error

__all__ = ["SCALE", "ScaleProjection"]

_SCHEMA = record(
    {
        "spec": record(
            {"replicas": integer("How many replicas are wanted.")},
            "What the scale is meant to be.",
            go_type="v1.ScaleSpec",
        ),
        "status": record(
            {
                "replicas": integer("How many replicas there are."),
                "selector": string("Which they are, as a label selector."),
            },
            "What the scale is.",
            go_type="v1.ScaleStatus",
            required=("replicas",),
        ),
    },
    "How many replicas an object has, and is to have.",
    go_type="v1.Scale",
)
_MESSAGE = message_of(
    _SCHEMA, {"Scale": "metadata spec status", "ScaleSpec": "replicas", "ScaleStatus": "replicas selector"}
)

SCALE = Resource(
    group="autoscaling",
    plural="scales",
    singular="scale",
    kind="Scale",
    namespaced=True,
    key_prefix="autoscaling/scales",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                Column(name="Name", cell=meta.name, format="name"),
                Column(name="Desired", cell=lambda obj: obj["spec"].get("replicas", 0), type="integer"),
                Column(name="Available", cell=lambda obj: obj["status"].get("replicas", 0), type="integer"),
                Column(name="Age", cell=meta.creation_timestamp, type="date", age=True),
            ),
        ),
    ),
)
_UNSET = -(2**31)
"""Stands for replicas that the object does not have, while its scale is being changed; upstream's value."""
_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


_SHOWN = ("f:spec", "f:replicas")


def _place(scale: Obj) -> tuple[str, ...]:
    """Where the replicas are, as the elements of a set of fields."""
    return tuple(f"f:{name}" for name in scale["specReplicasPath"].lstrip(".").split("."))


class ScaleProjection:
    """See ``apimachinery.resource.Projection``. ``scale``: the definition's. ``scales``: those of all versions of the
    resource, by apiVersion; None: that version has none."""

    resource = SCALE

    def __init__(self, scale: Obj, scales: Mapping[str, Obj | None]) -> None:
        places = {version: None if one is None else _place(one) for version, one in scales.items()}
        self.field = ProjectedField(_SHOWN, "autoscaling/v1", places)
        self._spec_path: str = scale["specReplicasPath"]
        self._status_path: str = scale["statusReplicasPath"]
        self._selector_path: str = scale.get("labelSelectorPath") or ""

    def show(self, obj: Obj) -> Obj:
        wanted = self._wanted(obj)
        if wanted is None:
            raise internal_error(f'the spec replicas field "{self._spec_path}" does not exist')
        return self._scale(obj, wanted)

    def show_for_change(self, obj: Obj) -> Obj:
        wanted = self._wanted(obj)
        return self._scale(obj, _UNSET if wanted is None else wanted)

    def _wanted(self, obj: Obj) -> int | None:
        try:
            return nested_int(obj, self._spec_path)
        except NestedTypeError as error:
            raise unknown_error(str(error)) from error

    def _scale(self, obj: Obj, wanted: int) -> Obj:
        try:
            status: Obj = {"replicas": nested_int(obj, self._status_path) or 0}
            selector = nested_text(obj, self._selector_path) if self._selector_path else ""
        except NestedTypeError as error:
            raise unknown_error(str(error)) from error
        if selector:
            status["selector"] = selector
        metadata = obj["metadata"]
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: metadata[key] for key in _SHOWN_METADATA if metadata.get(key)},
            "spec": {"replicas": wanted} if wanted else {},
            "status": status,
        }

    def merge(self, shown: Obj, obj: Obj) -> Obj:
        replicas = (shown.get("spec") or {}).get("replicas", 0)
        if replicas == _UNSET:
            raise bad_request(f'the spec replicas field "{self._spec_path}" cannot be empty')
        try:
            changed = set_nested(obj, self._spec_path, replicas)
        except NestedTypeError as error:
            raise unknown_error(str(error)) from error
        metadata = dict(changed["metadata"])
        given = (shown.get("metadata") or {}).get("resourceVersion")
        if given:
            metadata["resourceVersion"] = given
        changed["metadata"] = metadata
        return changed
