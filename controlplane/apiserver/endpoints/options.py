"""The query parameters and bodies that steer a verb, read and checked.

Source: kubernetes/apimachinery ``pkg/apis/meta`` (v1 and internalversion, conversion and validation) for names, rules
and texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.status import APIError, bad_request, invalid
from controlplane.apimachinery.validation import field
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.metadata import validate_field_manager
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.base.values import dataclass
from controlplane.client.request import Query

__all__ = [
    "ListOptions",
    "WriteOptions",
    "delete_options_from_body",
    "delete_options_from_query",
    "list_options",
    "parse_bool",
    "parse_int",
    "parse_uint",
    "write_options",
]

_T = TypeVar("_T")
_META_GROUP = "meta.k8s.io"
_POLICIES = ("Foreground", "Background", "Orphan")
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MAX_INT64 = 2**63 - 1
_GO_TYPES: dict[type, str] = {dict: "v1.Preconditions", list: "[]string", int: "int64", str: "string", bool: "bool"}
_NAMED_TYPES = {"uid": "types.UID", "propagationPolicy": "v1.DeletionPropagation"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options of create, update and patch. ``field_validation``: Ignore, Warn or Strict. ``force``: None if absent."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None

    def to_obj(self, kind: str) -> Obj:
        """The options as admission plugins see them; not to be changed."""
        return _DEFAULT_OBJS[kind] if self is _DEFAULT_WRITE else _write_obj(self, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Options of list, watch and deletecollection, as given. ``send_initial_events`` is None if absent; ``limit`` 0 and
    ``timeout_seconds`` None are unset."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None


_DEFAULT_WRITE = WriteOptions()
_DEFAULT_LIST = ListOptions()


def _write_obj(options: WriteOptions, kind: str) -> Obj:
    obj: Obj = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        obj["dryRun"] = ["All"]
    if options.field_manager:
        obj["fieldManager"] = options.field_manager
    obj["fieldValidation"] = options.field_validation
    return obj


_DEFAULT_OBJS = {kind: _write_obj(_DEFAULT_WRITE, kind) for kind in ("CreateOptions", "UpdateOptions")}


def parse_bool(text: str) -> bool:
    """A boolean parameter: anything but ``false`` and ``0`` is true."""
    return text.lower() not in ("false", "0")


def parse_int(text: str) -> int:
    """A 64-bit number.

    Raises:
        APIError: 400 in Go's words.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text)
    if not -_MAX_INT64 - 1 <= value <= _MAX_INT64:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def parse_uint(text: str) -> int:
    """A resource version; unset is 0.

    Raises:
        ValueError: with the text that follows ``resourceVersion`` on the wire.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        why = "invalid syntax"
    elif int(text) > 2 * _MAX_INT64 + 1:
        why = "value out of range"
    else:
        return int(text)
    raise ValueError(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}')


def write_options(query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
    """Read and check the options of a write. ``kind``: CreateOptions, UpdateOptions or PatchOptions. ``apply``: of a
    patch that is an apply, which must name its manager and may be forced.

    Raises:
        APIError: 422 with every problem.
    """
    if not query and not apply:
        return _DEFAULT_WRITE
    dry_run, manager = query.get("dryRun", []), query.first("fieldManager")
    validation = query.first("fieldValidation")
    errors: list[FieldError] = []
    force = parse_bool(query.first("force")) if kind == "PatchOptions" and "force" in query else None
    if apply:
        if not manager:
            errors.append(field.required("fieldManager", "is required for apply patch"))
    elif force is not None:
        errors.append(field.forbidden("force", "may not be specified for non-apply patch"))
    errors += validate_field_manager(manager)
    errors += _dry_run_problems(dry_run)
    if validation not in _VALIDATIONS:
        errors.append(_not_supported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise invalid(_META_GROUP, kind, "", errors)
    return WriteOptions(
        dry_run=bool(dry_run), field_manager=manager, field_validation=validation or "Warn", force=force
    )


def list_options(query: Query) -> ListOptions:
    """Read and check the options of a list, watch or deletecollection.

    Raises:
        APIError: 400 for what cannot be read, 422 for what contradicts.
    """
    if not query:
        return _DEFAULT_LIST
    options = ListOptions(
        label_selector=query.first("labelSelector"),
        field_selector=query.first("fieldSelector"),
        resource_version=query.first("resourceVersion"),
        resource_version_match=query.first("resourceVersionMatch"),
        limit=max(0, parse_int(query.first("limit"))) if "limit" in query else 0,
        continue_token=query.first("continue"),
        timeout_seconds=parse_int(query.first("timeoutSeconds")) if "timeoutSeconds" in query else None,
        allow_bookmarks=query.flag("allowWatchBookmarks"),
        send_initial_events=parse_bool(query.first("sendInitialEvents")) if "sendInitialEvents" in query else None,
    )
    errors = _watch_problems(options) if query.flag("watch") else _list_problems(options)
    if errors:
        raise invalid(_META_GROUP, "ListOptions", "", errors)
    return options


def _list_problems(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    match, at = options.resource_version_match, "resourceVersionMatch"
    if match:
        if not options.resource_version:
            errors.append(field.forbidden(at, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(field.forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(_not_supported(at, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(field.forbidden(at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        errors.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_problems(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    match, at = options.resource_version_match, "resourceVersionMatch"
    if options.send_initial_events is not None and match != "NotOlderThan":
        errors.append(field.forbidden(at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            errors.append(
                field.forbidden(at, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            errors.append(_not_supported(at, match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(field.forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
    return errors


def delete_options_from_query(query: Query) -> DeleteRequest:
    """Delete options given as parameters (used where there is no body).

    Raises:
        APIError: 400 for what cannot be read, 422 for what contradicts.
    """
    if not query:
        return _checked_delete([])
    grace = parse_int(query.first("gracePeriodSeconds")) if "gracePeriodSeconds" in query else None
    orphan = parse_bool(query.first("orphanDependents")) if "orphanDependents" in query else None
    policy = query.first("propagationPolicy") if "propagationPolicy" in query else None
    return _checked_delete(query.get("dryRun", []), grace=grace, orphan=orphan, policy=policy)


def delete_options_from_body(body: Obj) -> DeleteRequest:
    """Delete options given as a decoded DeleteOptions object; members it does not know are ignored.

    Raises:
        APIError: 400 for what is of the wrong type, 422 for what contradicts.
    """
    _require_delete_options(body)
    preconditions = _typed(body, "preconditions", dict) or {}
    dry_run = _typed(body, "dryRun", list) or []
    for value in dry_run:
        if not isinstance(value, str):
            raise _wrong_type(value, "DeleteOptions.dryRun", "string")
    within = "Preconditions.preconditions"
    return _checked_delete(
        dry_run,
        grace=_typed(body, "gracePeriodSeconds", int),
        orphan=_typed(body, "orphanDependents", bool),
        policy=_typed(body, "propagationPolicy", str),
        uid=_typed(preconditions, "uid", str, within=within),
        resource_version=_typed(preconditions, "resourceVersion", str, within=within),
    )


def _require_delete_options(body: Obj) -> None:
    """Refuse another kind; the version does not matter."""
    try:
        gv = GroupVersion.parse(body.get("apiVersion") or f"{_META_GROUP}/v1")
    except ValueError as error:
        raise bad_request(str(error)) from error
    if (kind := body.get("kind") or "DeleteOptions") != "DeleteOptions":
        from controlplane.apiserver.endpoints.wrong_kind import no_delete_options  # late: it has the names of all kinds

        raise bad_request(no_delete_options(GVK(gv.group, gv.version, kind)))


def _checked_delete(
    dry_run: Sequence[str],
    *,
    grace: int | None = None,
    orphan: bool | None = None,
    policy: str | None = None,
    uid: str | None = None,
    resource_version: str | None = None,
) -> DeleteRequest:
    errors: list[FieldError] = []
    if orphan is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(field.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(_not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _dry_run_problems(dry_run)
    if errors:
        raise invalid(_META_GROUP, "DeleteOptions", "", errors)
    return DeleteRequest(
        dry_run=bool(dry_run),
        grace_period_seconds=1 if grace is not None and grace < 0 else grace,
        uid=uid,
        resource_version=resource_version,
        orphan_dependents=orphan,
        propagation_policy=policy,
    )


def _dry_run_problems(dry_run: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in dry_run):
        return []
    return [_not_supported("dryRun", list(dry_run), ("All",))]


def _not_supported(path: str, value: object, allowed: Sequence[str]) -> FieldError:
    """The allowed values in upstream's order, which is not always alphabetical."""
    values = ", ".join(f'"{a}"' for a in allowed)
    return FieldError("FieldValueNotSupported", path, value, f"supported values: {values}")


def _typed(body: Obj, name: str, kind: type[_T], *, within: str = "DeleteOptions") -> _T | None:
    """A member of the type it must have; null is absent. ``within``: where it stands, for errors."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong_type(value, f"{within}.{name}", _NAMED_TYPES.get(name, _GO_TYPES[kind]))
    return value


def _wrong_type(value: object, field_name: str, wanted: str) -> APIError:
    given = f"number {value!r}" if isinstance(value, float) and wanted == "int64" else json_kind(value)
    return bad_request(f"json: cannot unmarshal {given} into Go struct field {field_name} of type {wanted}")
