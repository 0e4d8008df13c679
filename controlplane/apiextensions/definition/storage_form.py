"""The form in which definitions are stored, apiextensions.k8s.io/v1beta1, and the one in which they are served, v1.

In the stored form what all versions have alike (schema, subresources, columns, selectable fields) is said once, at the
top of ``spec``; that is also the form in which definitions are validated, so paths in errors are its paths.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/{v1,v1beta1}/conversion.go``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.storage.errors import Unreadable

__all__ = ["GROUP", "SERVED", "STORED", "StorageForm", "fold", "unfold"]

GROUP = "apiextensions.k8s.io"
SERVED, STORED = "v1", "v1beta1"

_SHARED = {
    "subresources": "subresources",
    "schema": "validation",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Fields of versions, and their names where they are said once for all."""


def fold(spec: Obj) -> Obj:
    """The stored form of a served ``spec``; shares with it what is not changed."""
    folded: Obj = {key: value for key, value in spec.items() if key not in ("versions", "conversion")}
    folded["preserveUnknownFields"] = bool(spec.get("preserveUnknownFields"))
    versions = [dict(version) for version in spec.get("versions") or ()]
    for version in versions:
        if version.get("additionalPrinterColumns"):
            version["additionalPrinterColumns"] = [
                _renamed(column, "jsonPath", "JSONPath") for column in version["additionalPrinterColumns"]
            ]
    if versions:
        folded["version"] = versions[0].get("name", "")
        for name, shared in _SHARED.items():
            first = versions[0].get(name)
            if any(version.get(name) != first for version in versions[1:]):
                continue
            if first is not None:
                folded[shared] = first
            for version in versions:
                version.pop(name, None)
    if spec.get("versions") is not None:
        folded["versions"] = versions
    conversion = spec.get("conversion")
    if conversion is not None:
        folded["conversion"] = _fold_conversion(conversion)
    return folded


def unfold(folded: Obj) -> Obj:
    """The served form of a stored ``spec``."""
    hidden = {"version", "versions", "conversion", *_SHARED.values()}
    spec: Obj = {key: value for key, value in folded.items() if key not in hidden}
    if not spec.get("preserveUnknownFields", True):
        del spec["preserveUnknownFields"]
    else:
        spec["preserveUnknownFields"] = True
    versions = [dict(version) for version in folded.get("versions") or ()]
    if not versions and folded.get("version"):
        versions = [{"name": folded["version"], "served": True, "storage": True}]
    for version in versions:
        for name, shared in _SHARED.items():
            if folded.get(shared) is not None:
                version[name] = folded[shared]
        if version.get("additionalPrinterColumns"):
            version["additionalPrinterColumns"] = [
                _renamed(column, "JSONPath", "jsonPath") for column in version["additionalPrinterColumns"]
            ]
    spec["versions"] = versions
    conversion = folded.get("conversion")
    if conversion is not None:
        spec["conversion"] = _unfold_conversion(conversion)
    return spec


def _renamed(column: Obj, old: str, new: str) -> Obj:
    return {new if key == old else key: value for key, value in column.items()}


def _fold_conversion(conversion: Obj) -> Obj:
    folded: Obj = {"strategy": conversion.get("strategy", "")}
    webhook = conversion.get("webhook")
    if webhook is not None:
        if webhook.get("clientConfig") is not None:
            folded["webhookClientConfig"] = webhook["clientConfig"]
        if webhook.get("conversionReviewVersions"):
            folded["conversionReviewVersions"] = webhook["conversionReviewVersions"]
    return folded


def _unfold_conversion(folded: Obj) -> Obj:
    conversion: Obj = {"strategy": folded.get("strategy", "")}
    config, versions = folded.get("webhookClientConfig"), folded.get("conversionReviewVersions")
    if config is not None or versions is not None:
        conversion["webhook"] = {"conversionReviewVersions": versions}
        if config is not None:
            conversion["webhook"]["clientConfig"] = config
    return conversion


class StorageForm:
    """The conversion of definitions between the store and the API; see ``storage.cache.view.Conversion``."""

    as_stored, keeps_metadata = False, True

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        obj: Any = loads(data)
        if not isinstance(obj, dict) or not isinstance(obj.get("spec"), dict):
            raise Unreadable(b"", "the stored definition has no spec")
        served = {"kind": obj["kind"], "apiVersion": wanted, "metadata": obj["metadata"]}
        spec = obj["spec"] if stored == wanted else unfold(obj["spec"])
        status = obj.get("status") or {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": None,
        }
        return dumps({**served, "spec": spec, "status": status})

    def to_storage(self, obj: Obj) -> Obj:
        return {**obj, "spec": fold(obj["spec"])}
