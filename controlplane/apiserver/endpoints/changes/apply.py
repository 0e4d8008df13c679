"""Server-side apply: a client states what it wants to own, and it is merged into what is there, or becomes it.

Source: the texts and the order of checks of kubernetes/apimachinery ``pkg/util/managedfields``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.patch.structured.errors import ConflictError, FormError, TypeMismatch
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.apimachinery.status import APIError, bad_request
from controlplane.apiserver.endpoints.body import decode_applied, read_yaml
from controlplane.apiserver.endpoints.changes.api import Change, Edit

__all__ = ["apply"]


async def apply(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no YAML object of the served kind; 413."""
    applied, repeated = await read_yaml(edit.request, prefix="error decoding YAML: ")
    if applied is None:
        applied = {}
    if not isinstance(applied, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_kind(applied)} into Go value of type map[string]interface {{}}"
        )
    _check_head(applied, edit.target.served.gvk)

    def change(old: Obj | None) -> Obj:
        try:
            merged = edit.fields.apply(old, applied, edit.manager, force=bool(edit.options.force))
        except ConflictError as error:
            raise _conflict(error) from error
        except FormError as error:
            raise _failed(str(error)) from error
        except TypeMismatch as error:
            raise _failed(f"failed to create typed patch object ({_subject(applied)}): {error}") from error
        except ValueError as error:
            raise _failed(f"failed to create typed live object ({_subject(applied)}): {error}") from error
        if repeated and edit.options.field_validation == "Strict":
            lines = "".join(f"\n  {line}" for line in repeated)
            raise bad_request(
                f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:{lines}"
            )
        if edit.options.field_validation == "Warn":
            for line in repeated:
                edit.warn(line)
        obj: Obj = loads(dumps(merged))
        try:
            decode_applied(obj, edit.target.served)
        except DecodeError as error:
            text = f"failed to convert new object ({_subject(applied)}) to proper version: {error}"
            raise _failed(text) from error
        return obj

    return change


def _check_head(applied: Obj, served: GVK) -> None:
    """The kind must be the served one; managed fields are not the client's to apply."""
    given = _kind_of(applied)
    if given != served:
        raise bad_request(f"invalid object type: {_shown(given)}")
    meta = applied.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")


def _kind_of(applied: Obj) -> GVK:
    api_version, kind = applied.get("apiVersion"), applied.get("kind")
    try:
        gv = GroupVersion.parse(api_version if isinstance(api_version, str) else "")
    except ValueError:
        return GVK("", "", "")
    return GVK(gv.group, gv.version, kind if isinstance(kind, str) else "")


def _shown(gvk: GVK) -> str:
    return f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"


def _subject(applied: Obj) -> str:
    """An object in upstream's errors: namespace, name and kind as the body has them."""
    meta: Any = applied.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    namespace, name = (value if isinstance(value, str) else "" for value in (meta.get("namespace"), meta.get("name")))
    return f"{namespace}/{name}; {_shown(_kind_of(applied))}"


def _failed(text: str) -> APIError:
    """500 without a reason: what upstream makes of errors that nobody has given a meaning."""
    return APIError(500, "", text)


def _conflict(error: ConflictError) -> APIError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {found.manager}", "field": found.field}
        for found in error.conflicts
    ]
    return APIError(409, "Conflict", str(error), details={"causes": causes})
