"""Reading and writing the common fields of objects held as decoded JSON.

Accessors never raise for a field that is missing or null: they give the empty value, as Kubernetes' typed objects do.
Setters make ``metadata`` when it is missing, and remove a field rather than leave an empty one behind, since that is
what the wire form of Kubernetes' objects does.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from controlplane.apimachinery.identity import GVK, GroupVersion, Key, Obj

__all__ = [
    "annotations",
    "api_version",
    "controller_of",
    "creation_timestamp",
    "deletion_grace_period_seconds",
    "deletion_timestamp",
    "finalizers",
    "format_micro_time",
    "format_time",
    "generate_name",
    "generation",
    "gvk_of",
    "is_being_deleted",
    "key_of",
    "kind",
    "labels",
    "managed_fields",
    "metadata",
    "name",
    "namespace",
    "owner_references",
    "parse_time",
    "resource_version",
    "set_field",
    "set_finalizers",
    "set_gvk",
    "set_resource_version",
    "uid",
]

_EMPTY: Mapping[str, Any] = {}


def metadata(obj: Obj) -> Obj:
    """The metadata object, made if it is missing."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        meta = obj["metadata"] = {}
    return cast("Obj", meta)


def _field(obj: Obj, field: str) -> Any:
    return (obj.get("metadata") or _EMPTY).get(field)


def api_version(obj: Obj) -> str:
    return obj.get("apiVersion") or ""


def kind(obj: Obj) -> str:
    return obj.get("kind") or ""


def gvk_of(obj: Obj) -> GVK:
    """The object's own group, version and kind.

    Raises:
        ValueError: its apiVersion has more than one slash.
    """
    gv = GroupVersion.parse(api_version(obj))
    return GVK(gv.group, gv.version, kind(obj))


def set_gvk(obj: Obj, gvk: GVK) -> None:
    obj["apiVersion"], obj["kind"] = gvk.api_version, gvk.kind


def name(obj: Obj) -> str:
    return _field(obj, "name") or ""


def generate_name(obj: Obj) -> str:
    return _field(obj, "generateName") or ""


def namespace(obj: Obj) -> str:
    return _field(obj, "namespace") or ""


def key_of(obj: Obj) -> Key:
    meta = obj.get("metadata") or _EMPTY
    return Key(meta.get("namespace") or "", meta.get("name") or "")


def uid(obj: Obj) -> str:
    return _field(obj, "uid") or ""


def resource_version(obj: Obj) -> str:
    return _field(obj, "resourceVersion") or ""


def generation(obj: Obj) -> int:
    return _field(obj, "generation") or 0


def labels(obj: Obj) -> Mapping[str, str]:
    return _field(obj, "labels") or _EMPTY


def annotations(obj: Obj) -> Mapping[str, str]:
    return _field(obj, "annotations") or _EMPTY


def finalizers(obj: Obj) -> Sequence[str]:
    return _field(obj, "finalizers") or ()


def owner_references(obj: Obj) -> Sequence[Obj]:
    return _field(obj, "ownerReferences") or ()


def managed_fields(obj: Obj) -> Sequence[Obj]:
    return _field(obj, "managedFields") or ()


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference that is marked as the controller."""
    return next((owner for owner in owner_references(obj) if owner.get("controller")), None)


def creation_timestamp(obj: Obj) -> str:
    return _field(obj, "creationTimestamp") or ""


def deletion_timestamp(obj: Obj) -> str:
    return _field(obj, "deletionTimestamp") or ""


def deletion_grace_period_seconds(obj: Obj) -> int | None:
    return cast("int | None", _field(obj, "deletionGracePeriodSeconds"))


def is_being_deleted(obj: Obj) -> bool:
    return bool(_field(obj, "deletionTimestamp"))


def set_field(obj: Obj, field: str, value: Any) -> None:
    """Set a metadata field; None and empty strings, lists and objects remove it."""
    if value is None or value in ("", [], {}):
        meta = obj.get("metadata")
        if meta:
            meta.pop(field, None)
    else:
        metadata(obj)[field] = value


def set_finalizers(obj: Obj, names: Sequence[str]) -> None:
    set_field(obj, "finalizers", list(names))


def set_resource_version(obj: Obj, value: str) -> None:
    set_field(obj, "resourceVersion", value)


def format_time(when: datetime) -> str:
    """A time as metav1.Time writes it: UTC, whole seconds. ``when`` must be aware."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(when: datetime) -> str:
    """A time as metav1.MicroTime writes it: UTC, six digits of a second. ``when`` must be aware."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time, aware.

    Raises:
        ValueError: it is not one.
    """
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return when
