"""Object metadata: what may be in it, and what an update may change.

Errors come in upstream's order and with its words; a client that shows them shows the same list. ``native`` adds what
compiled-in kinds ask beyond the generic rules: a finalizer is a standard one or has a prefix.

Source: kubernetes/apimachinery v0.36 ``pkg/api/validation/objectmeta.go``, ``pkg/apis/meta/v1/validation``; the native
finalizer rule is that of kubernetes' core API validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.validation.field import (
    ENOUGH_ERRORS,
    FieldError,
    forbidden,
    invalid,
    required,
    too_long,
)
from controlplane.apimachinery.validation.names import label_value, name_is_dns_label, qualified_name

__all__ = [
    "FIELD_MANAGER_BYTES",
    "FOREGROUND_FINALIZER",
    "ORPHAN_FINALIZER",
    "TOTAL_ANNOTATION_BYTES",
    "total_annotation_bytes",
    "validate_annotations",
    "validate_field_manager",
    "validate_finalizers",
    "validate_immutable",
    "validate_labels",
    "validate_managed_fields",
    "validate_native_finalizer",
    "validate_object_meta",
    "validate_object_meta_update",
    "validate_owner_references",
]

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN_FINALIZER, FOREGROUND_FINALIZER})
TOTAL_ANNOTATION_BYTES = 256 * 1024
"""All keys and values of one object's annotations together; larger ones would crowd everything that caches objects."""
FIELD_MANAGER_BYTES = 128
SUBRESOURCE_BYTES = 256

_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_OWNERS_REFUSED = frozenset({GVK("", "v1", "Event")})
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_CONTROLLERS_REPORTED = 10
"""Each such error shows all owners."""
_ABSENT_AS = {"name": "", "namespace": "", "uid": ""}

_SIMPLE = frozenset({"creationTimestamp", "labels", "managedFields", "name", "namespace", "uid"})
"""The metadata of most new objects: all else that is looked at is not there."""

ValidateName = Callable[[str, bool], Sequence[str]]


def validate_object_meta(
    meta: Obj, *, namespaced: bool, validate_name: ValidateName, path: str = "metadata", native: bool = False
) -> list[FieldError]:
    """Check metadata that is complete (a name has been generated if one was to be).

    ``validate_name`` takes a name and whether it is a generateName prefix, and returns what is wrong with it.
    """
    if namespaced and _SIMPLE.issuperset(meta) and _is_named(meta, validate_name):
        return _validate_simple(meta, path)
    errors: list[FieldError] = []
    if (generate_name := meta.get("generateName")) and (problems := validate_name(generate_name, True)):
        errors += [invalid(f"{path}.generateName", generate_name, p) for p in problems]
    if not (name := meta.get("name")):
        errors.append(required(f"{path}.name", "name or generateName is required"))
    elif problems := validate_name(name, False):
        errors += [invalid(f"{path}.name", name, p) for p in problems]

    namespace = meta.get("namespace")
    if not namespaced:
        if namespace:
            errors.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    elif not namespace:
        errors.append(required(f"{path}.namespace"))
    elif problems := name_is_dns_label(namespace, False):
        errors += [invalid(f"{path}.namespace", namespace, p) for p in problems]

    if (generation := meta.get("generation") or 0) < 0:
        errors.append(invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    finalizers = meta.get("finalizers") or ()
    if not _COLLECTIONS.isdisjoint(meta):
        errors += _validate_collections(meta, path)
    if finalizers:
        errors += validate_finalizers(finalizers, f"{path}.finalizers")
    if managed := meta.get("managedFields"):
        errors += validate_managed_fields(managed, f"{path}.managedFields")
    if native and finalizers:
        errors += _native_finalizers(finalizers, f"{path}.finalizers")
    return errors


def _is_named(meta: Obj, validate_name: ValidateName) -> bool:
    """Whether metadata have a good name and namespace."""
    name: str = meta.get("name") or ""
    namespace: str = meta.get("namespace") or ""
    return bool(name and namespace) and not validate_name(name, False) and not name_is_dns_label(namespace, False)


def _validate_simple(meta: Obj, path: str) -> list[FieldError]:
    """Check what else there is where all of it is ``_SIMPLE``."""
    labels, managed = meta.get("labels"), meta.get("managedFields")
    errors = validate_labels(labels, f"{path}.labels") if labels else []
    return errors + validate_managed_fields(managed, f"{path}.managedFields") if managed else errors


def validate_object_meta_update(
    meta: Obj, old: Obj, *, path: str = "metadata", native: bool = False
) -> list[FieldError]:
    """Check what an update changes; ``meta`` carries the resource version that the update is based on."""
    errors: list[FieldError] = []
    finalizers = meta.get("finalizers") or ()
    if old.get("deletionTimestamp") and (added := sorted(set(finalizers) - set(old.get("finalizers") or ()))):
        listed = ", ".join(f'"{name}"' for name in added)
        errors.append(
            forbidden(
                f"{path}.finalizers",
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}",
            )
        )
    if not meta.get("resourceVersion"):
        errors.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    if (generation := meta.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(invalid(f"{path}.generation", generation, "must not be decremented"))
    for field in _IMMUTABLE:
        if meta.get(field) != old.get(field):
            absent = _ABSENT_AS.get(field)
            errors += validate_immutable(meta.get(field, absent), old.get(field, absent), f"{path}.{field}")
    errors += _validate_collections(meta, path)
    if managed := meta.get("managedFields"):
        errors += validate_managed_fields(managed, f"{path}.managedFields")
    if native and finalizers:
        errors += _native_finalizers(finalizers, f"{path}.finalizers")
    return errors


_COLLECTIONS = frozenset({"labels", "annotations", "ownerReferences"})


def _validate_collections(meta: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors += validate_labels(labels, f"{path}.labels")
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, f"{path}.annotations")
    if owners := meta.get("ownerReferences"):
        errors += validate_owner_references(owners, f"{path}.ownerReferences")
    return errors


def validate_immutable(value: Any, old: Any, path: str) -> list[FieldError]:
    return [] if value == old else [invalid(path, value, "field is immutable")]


_REMEMBERED_LABEL = 128
"""Of a key and a value together, in characters."""


@lru_cache(maxsize=4096)
def _is_label(key: str, value: str) -> bool:
    """Whether these are a good key and value, as the same few are in most objects."""
    return not qualified_name(key) and not label_value(value)


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in labels.items():
        if len(key) + len(value) <= _REMEMBERED_LABEL and _is_label(key, value):
            continue
        for problem in qualified_name(key):
            errors.append(invalid(path, key, problem))  # noqa: PERF401 - loops that mostly do not turn cost less
        for problem in label_value(value):
            errors.append(invalid(path, value, problem))  # noqa: PERF401
        if len(errors) >= ENOUGH_ERRORS:
            break
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Keys are label keys whose case does not matter; the whole is bounded by TOTAL_ANNOTATION_BYTES."""
    found = (invalid(path, key, problem) for key in annotations for problem in qualified_name(key.lower()))
    errors = list(islice(found, ENOUGH_ERRORS))
    if total_annotation_bytes(annotations) > TOTAL_ANNOTATION_BYTES:
        errors.append(too_long(path, TOTAL_ANNOTATION_BYTES))
    return errors


def total_annotation_bytes(annotations: Mapping[str, str]) -> int:
    return sum(_utf8_bytes(k) + _utf8_bytes(v) for k, v in annotations.items())


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def validate_owner_references(owners: Sequence[Obj], path: str) -> list[FieldError]:
    """Each names its object whole, and at most one is the controller. Paths carry no index, as upstream's."""
    errors: list[FieldError] = []
    controller, more = "", 0
    for owner in owners:
        if len(errors) >= ENOUGH_ERRORS:
            break
        errors += _validate_owner(owner, path)
        if owner.get("controller"):
            named = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller and more == _CONTROLLERS_REPORTED:
                continue
            if controller:
                more += 1
                errors.append(
                    invalid(
                        path,
                        [_in_field_order(o) for o in owners],
                        "Only one reference can have Controller set to true. "
                        f'Found "true" in references for {controller} and {named}',
                    )
                )
            else:
                controller = named
    return errors


def _validate_owner(owner: Obj, path: str) -> list[FieldError]:
    api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    try:
        gv = GroupVersion.parse(api_version)
    except ValueError:
        gv = GroupVersion("", "")
    errors: list[FieldError] = []
    if not gv.version:
        errors.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
    errors += [
        invalid(f"{path}.{field}", "", "must not be empty") for field in ("kind", "name", "uid") if not owner.get(field)
    ]
    if GVK(gv.group, gv.version, kind) in _OWNERS_REFUSED:
        printed = f"{gv.group}/{gv.version}, Kind={kind}"
        errors.append(invalid(path, _in_field_order(owner), f"{printed} is disallowed from being an owner"))
    return errors


def _in_field_order(owner: Obj) -> Obj:
    """An owner reference as upstream prints it: its fields in their declared order."""
    return {field: owner[field] for field in _OWNER_FIELDS if field in owner}


def validate_finalizers(finalizers: Iterable[str], path: str) -> list[FieldError]:
    finalizers = list(finalizers)
    found = (invalid(path, name, problem) for name in finalizers for problem in qualified_name(name))
    errors = list(islice(found, ENOUGH_ERRORS))
    if ORPHAN_FINALIZER in finalizers and FOREGROUND_FINALIZER in finalizers:
        errors.append(
            invalid(path, finalizers, f"finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set")
        )
    return errors


def validate_native_finalizer(name: str, path: str) -> list[FieldError]:
    """One finalizer by all rules of native kinds."""
    return [invalid(path, name, problem) for problem in qualified_name(name)] + _unprefixed_finalizer(name, path)


def _unprefixed_finalizer(name: str, path: str) -> list[FieldError]:
    if "/" in name or name in STANDARD_FINALIZERS:
        return []
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


def _native_finalizers(finalizers: Iterable[str], path: str) -> list[FieldError]:
    found = (error for i, name in enumerate(finalizers) for error in _unprefixed_finalizer(name, f"{path}[{i}]"))
    return list(islice(found, ENOUGH_ERRORS))


def validate_managed_fields(entries: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, entry in enumerate(entries):
        manager, subresource = entry.get("manager") or "", entry.get("subresource") or ""
        if len(manager) <= FIELD_MANAGER_BYTES >= len(subresource) and _is_plain(
            entry.get("operation"), entry.get("fieldsType"), manager, subresource
        ):
            continue
        if len(errors) >= ENOUGH_ERRORS:
            break
        at = f"{path}[{i}]"
        operation, fields_type = entry.get("operation") or "", entry.get("fieldsType")
        if operation not in {"Apply", "Update"}:
            errors.append(invalid(f"{at}.operation", operation, "must be `Apply` or `Update`"))
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(f"{at}.fieldsType", fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager") or "", f"{at}.manager")
        if _utf8_bytes(entry.get("subresource") or "") > SUBRESOURCE_BYTES:
            errors.append(too_long(f"{at}.subresource", SUBRESOURCE_BYTES))
    return errors


@lru_cache(maxsize=1024)
def _is_plain(operation: str | None, fields_type: str | None, manager: str, subresource: str) -> bool:
    """Whether an entry is surely valid, as nearly all are."""
    return (
        operation in {"Apply", "Update"}
        and fields_type == "FieldsV1"
        and manager.isascii()
        and manager.isprintable()
        and len(subresource) <= SUBRESOURCE_BYTES // 4
    )


def validate_field_manager(name: str, path: str = "fieldManager") -> list[FieldError]:
    """The name of a field manager: at most FIELD_MANAGER_BYTES, printable; empty is none."""
    errors: list[FieldError] = []
    if len(name) <= FIELD_MANAGER_BYTES and name.isascii() and name.isprintable():
        return errors
    if _utf8_bytes(name) > FIELD_MANAGER_BYTES:
        errors.append(too_long(path, FIELD_MANAGER_BYTES))
    errors += [
        invalid(path, name, f"invalid character U+{ord(char):04X} (at position {len(name[:i].encode())})")
        for i, char in enumerate(name)
        if not char.isprintable()
    ]
    return errors
