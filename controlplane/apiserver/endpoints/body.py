"""Request bodies: read whole, parsed (JSON before YAML, since that is what nearly all are), checked against the kind.

Source: kubernetes/apiserver ``pkg/endpoints/handlers`` (create.go, rest.go: transformDecodeError) for order and texts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from controlplane.apimachinery.codec.json import MalformedJSON, dumps_sorted, loads, loads_unbounded
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.codec.json_text import well_formed
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.schema.decode import (
    DecodeError,
    SpelledFloat,
    cannot_be_handled,
    decode_metadata,
    strict_error,
)
from controlplane.apimachinery.schema.duplicates import merge_duplicates
from controlplane.apimachinery.schema.strict import in_order_of_keys, strict_problems
from controlplane.apimachinery.status import APIError, bad_request, invalid, request_entity_too_large
from controlplane.apimachinery.validation import field
from controlplane.apiserver.endpoints.body_summary import body_summary
from controlplane.apiserver.endpoints.options import delete_options_from_body, delete_options_from_query
from controlplane.apiserver.endpoints.protobuf_body import json_of_protobuf, options_of_protobuf
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.apiserver.registry.table import Served
from controlplane.base.aside import aside, is_long, note_size
from controlplane.client.negotiation import JSON, body_type, is_protobuf
from controlplane.client.request import BodyTooLarge, Request

__all__ = [
    "LARGE_BYTES",
    "Document",
    "check_body_type",
    "decode_applied",
    "decode_in_steps",
    "decode_object",
    "decode_patched",
    "parse",
    "read_body",
    "read_delete_options",
    "read_document",
    "read_object",
    "read_yaml",
]

_YAML_ON_LOOP_BYTES = 2048
"""YAML up to this length is converted on the loop: two milliseconds."""

_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
"""Into what Go reads kind and version, as it prints it."""

LARGE_BYTES = 16 * 1024
"""Longer bodies are parsed, searched for repeated keys and decoded in steps of their own: for a definition of 500 KB
each is up to 9 ms on a machine 3.5 times slower than that of the targets, where all at once were 30."""

_REPEATED_KEYS = "yaml: unmarshal errors:\n  "

Warn = Callable[[str], None]


class Document(NamedTuple):
    """A body as JSON, and what a strict reader finds wrong with it that the JSON no longer shows. ``given``: the body,
    if it was YAML."""

    json: bytes
    problems: tuple[str, ...]
    given: bytes = b""

    @property
    def shown(self) -> bytes:
        """What errors show of it."""
        return self.given or self.json


def check_body_type(request: Request) -> None:
    """Raises APIError 415: the body is of a type that objects are not read from."""
    content_type = request.headers.get("Content-Type")
    if content_type != JSON and not is_protobuf(content_type):
        body_type(content_type)


async def read_body(request: Request) -> bytes:
    """The whole body.

    Raises:
        APIError: 413.
    """
    raw = request.body_nowait()
    if raw is None:
        try:
            raw = await request.body()
        except BodyTooLarge as error:
            raise request_entity_too_large(str(error)) from error
    note_size(len(raw))
    return raw


async def read_document(request: Request, served: Served) -> Document:
    """The body as JSON; YAML and protobuf are converted, in a thread if they are long, since a kilobyte of YAML takes a
    millisecond.

    Raises:
        APIError: 413, 415. Malformed JSON is found only when it is decoded, malformed YAML and protobuf here, as 400.
    """
    if is_protobuf(request.headers.get("Content-Type")):
        return Document(await json_of_protobuf(await read_body(request), served), ())
    try:
        return await _read_text(request)
    except MalformedJSON as error:
        raise _unreadable(served, await read_body(request), str(error)) from error


async def _read_text(request: Request) -> Document:
    media_type = body_type(request.headers.get("Content-Type"))
    raw = await read_body(request)
    if media_type == JSON:
        return Document(raw, ())
    if await aside(lambda: _is_json(raw)) if is_long() else _is_json(raw):
        return Document(raw, (), raw)
    value, repeated = await _parse_yaml(raw)
    # keys in order, which is the one in which unknown fields are told of
    return Document(dumps_sorted(value), (_as_one(repeated),) if repeated else (), raw)


def _as_one(repeated: list[str]) -> str:
    """Repeated keys of YAML, which are one problem, but a warning each."""
    return _REPEATED_KEYS + "\n  ".join(repeated)


async def read_yaml(request: Request, *, prefix: str) -> tuple[Any, list[str]]:
    """The body as a value, JSON or YAML, and its repeated keys in the words for YAML. ``prefix``: of the error.

    Raises:
        APIError: 400, 413.
    """
    raw = await read_body(request)
    with suppress(MalformedJSON):
        value, repeated = await parse(raw)
        if not repeated:
            return value, []
    try:
        return await _parse_yaml(raw)
    except MalformedJSON as error:
        raise bad_request(f"{prefix}error converting YAML to JSON: {error}") from error


async def parse(raw: bytes) -> tuple[Any, list[str]]:
    """A JSON text as a value, and its repeated keys. Raises MalformedJSON."""
    if is_long():
        return await aside(lambda: merge_duplicates(raw, loads(raw)))
    return merge_duplicates(raw, loads(raw))


async def _parse_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """Parse YAML, in a thread if it is long. Raises MalformedJSON."""
    from controlplane.apimachinery.codec import yaml  # late, as in client.encoding

    if len(raw) > _YAML_ON_LOOP_BYTES:
        return await asyncio.to_thread(yaml.loads_strict, raw)
    return yaml.loads_strict(raw)


async def read_object(request: Request, served: Served, directive: str) -> Obj:
    """The body as a new object of the served kind; ``directive`` is the fieldValidation. Raises as ``read_document``
    and ``decode_object``."""
    warn = request.warnings.append
    if request.headers.get("Content-Type") == JSON:
        raw = await read_body(request)
        if len(raw) < LARGE_BYTES:
            return decode_object(Document(raw, ()), served, directive, warn)
    return await decode_in_steps(await read_document(request, served), served, directive, warn)


async def decode_in_steps(document: Document, served: Served, directive: str, warn: Warn) -> Obj:
    """``decode_object`` that lets others run between the steps of a long body."""
    if len(document.json) < LARGE_BYTES:
        return decode_object(document, served, directive, warn)
    if is_long():
        return await aside(lambda: decode_object(document, served, directive, warn))
    value = _parse(document, served)
    await asyncio.sleep(0)
    merged = _merge(document, served, value)
    await asyncio.sleep(0)
    return _take(document, served, merged, directive, warn)


def decode_object(document: Document, served: Served, directive: str, warn: Warn) -> Obj:
    """Decode a body into an object: its kind checked, types checked, unknown fields dropped, defaults filled in.

    ``directive``: what to do about unknown and repeated fields: Ignore, Warn or Strict. May be called again.

    Raises:
        APIError: 400.
    """
    return _take(document, served, _merge(document, served, _parse(document, served)), directive, warn)


def _parse(document: Document, served: Served) -> Any:
    try:
        return loads_unbounded(document.json)  # to look for repeated keys it is written again
    except MalformedJSON as error:
        raise _unrecognized(served, document.shown, str(error)) from error


def _merge(document: Document, served: Served, value: Any) -> tuple[Any, list[str]]:
    try:
        return merge_duplicates(document.json, value)
    except MalformedJSON as error:  # nested too deep
        raise _unrecognized(served, document.shown, str(error)) from error


def _take(document: Document, served: Served, merged: tuple[Any, list[str]], directive: str, warn: Warn) -> Obj:
    """The object of a parsed body. ``merged``: its value, and the keys that were repeated. Raises APIError."""
    value, problems = merged
    given = served.gvk
    try:
        if not _is_due(value, served):
            if value is None:
                value = {}
            why = _untyped(value)
            if why:
                raise _unrecognized(served, document.shown, why)
            if not served.resource.native:
                given = _given_type(value)
            _check_kind(value, served, document.shown)
        unknown = _decode(value, served)
    except DecodeError as error:
        raise bad_request(cannot_be_handled(served.gvk, _as_spelled(error, document.json, served), given)) from error
    if problems and served.resource.native and directive != "Ignore":
        problems = strict_problems(document.json, served.version.schema)
    else:
        problems = [*document.problems, *problems, *unknown]
    if problems and directive == "Strict":
        raise bad_request(cannot_be_handled(served.gvk, strict_error(problems)))
    if directive == "Warn":
        _warn_all(problems, warn)
    obj: Obj = value
    _set_type(obj, served)
    served.resource.strategy.default(obj)
    return obj


def decode_patched(
    obj: Obj,
    served: Served,
    problems: Sequence[str],
    directive: str,
    warn: Warn,
    *,
    shown: Callable[[], str],
    converted: bool = False,
) -> Obj:
    """Decode what a patch has made of an object, in place; ``problems`` are those of the patch itself, ``shown`` is
    what an error shows. ``converted``: it was applied to values, not to a text, and errors have the words of that.

    Raises:
        APIError: 422 at ``patch``.
    """
    if not (served.resource.native or _is_due(obj, served)):
        _refuse_custom_type(obj, served, shown)
    try:
        _check_kind(obj, served, b"")
    except APIError as error:
        raise _invalid_patch(shown(), error.message) from error
    try:
        unknown = _decode(obj, served)
    except DecodeError as error:
        raise _invalid_patch(shown(), error.converted if converted else str(error)) from error
    if served.resource.native:
        unknown = sorted(unknown) if converted else in_order_of_keys(unknown)
    problems = [*problems, *unknown]
    if problems and directive == "Strict":
        raise _invalid_patch(shown(), strict_error(problems))
    if directive == "Warn":
        _warn_all(problems, warn)
    _set_type(obj, served)
    served.resource.strategy.default(obj)
    return obj


def decode_applied(obj: Obj, served: Served) -> None:
    """Bring what an apply has made of an object into its kind's form, in place: canonical values, defaults.

    Raises:
        DecodeError: a value of a form that its type in the schema does not tell (a time that is none).
    """
    served.decoder.decode(obj)
    _set_type(obj, served)
    served.resource.strategy.default(obj)


async def read_delete_options(request: Request) -> DeleteRequest:
    """Delete options from the body, or, only if there is none, from the query.

    Raises:
        APIError: 400, 413, 415, 422.
    """
    raw = await read_body(request)
    if not raw:
        return delete_options_from_query(request.query)
    if is_protobuf(request.headers.get("Content-Type")):
        return delete_options_from_body(options_of_protobuf(raw))
    try:
        document = await _read_text(request)
    except MalformedJSON as error:
        raise bad_request(str(error)) from error
    try:
        value = loads(document.json)
    except MalformedJSON as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    if value is None:
        value = {}
    if why := _untyped(value):
        raise bad_request(f"couldn't get version/kind; json parse error: {why}")
    return delete_options_from_body(value)


def _is_json(raw: bytes) -> bool:
    """Whether a body that may be YAML is JSON without repeated keys, which is read a hundred times faster."""
    try:
        return not merge_duplicates(raw, loads(raw))[1]
    except MalformedJSON:
        return False


def _decode(value: Obj, served: Served) -> list[str]:
    """Decode, but keep an empty list of managed fields, which asks for a reset, in the form that a decoder does not
    drop. Raises DecodeError."""
    meta = value.get("metadata")
    reset = isinstance(meta, dict) and meta.get("managedFields") == []
    unknown = served.decoder.decode(value)
    if reset:
        value["metadata"]["managedFields"] = [{}]
    return unknown


def _as_spelled(error: DecodeError, raw: bytes, served: Served) -> str:
    """An error's message, with a number that does not fit as the document has it."""
    if "cannot unmarshal number " not in str(error):
        return str(error)
    try:
        served.decoder.decode(json.loads(well_formed(raw), parse_float=SpelledFloat))
    except DecodeError as spelled:
        return str(spelled)
    except ValueError:  # of more digits than Python takes for an integer
        pass
    return str(error)


def _is_due(value: Any, served: Served) -> bool:
    """Whether a value says that it is of the served kind, as nearly all do: then there is nothing to find out."""
    return (
        type(value) is dict and value.get("kind") == served.gvk.kind and value.get("apiVersion") == served.api_version
    )


def _untyped(value: Any) -> str:
    """Why Go cannot read kind and version from a value; ``""`` if it can."""
    if not isinstance(value, dict):
        return f"json: cannot unmarshal {json_kind(value)} into Go value of type {_TYPE_META}"
    for name in ("apiVersion", "kind"):
        if not isinstance(given := value.get(name), (str, type(None))):
            return f"json: cannot unmarshal {json_kind(given)} into Go struct field .{name} of type string"
    return ""


def _unrecognized(served: Served, raw: bytes, why: str) -> APIError:
    return _unreadable(served, raw, f"couldn't get version/kind; json parse error: {why}")


def _unreadable(served: Served, raw: bytes, why: str) -> APIError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {served.gvk.kind}): {why} ({body_summary(raw)})"
    )


def _check_kind(value: Obj, served: Served, raw: bytes) -> None:
    """Either may be left out of native kinds; what is given must be what is served. ``raw``: the body, for errors;
    empty for what a patch has made, whose errors say what it is themselves."""
    gvk = served.gvk
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if api_version == "/":
        api_version = ""
    if isinstance(api_version, str) and api_version.count("/") > 1:
        raise _unreadable(served, raw, f"unexpected GroupVersion string: {api_version}")
    if not served.resource.native and not kind:
        raise _unreadable(served, raw, f"Object 'Kind' is missing in '{raw.decode(errors='replace')}'")
    if not served.resource.native:
        if kind == gvk.kind and api_version == gvk.api_version:
            return
        raise _wrong_custom_kind(value, served)
    if kind in (None, "", gvk.kind) and api_version in (None, "", gvk.api_version):
        return
    raise bad_request(_wrong_kind(kind, api_version, gvk, whole=bool(raw)))


def _wrong_kind(kind: Any, api_version: Any, served: GVK, *, whole: bool) -> str:
    from controlplane.apiserver.endpoints.wrong_kind import wrong_kind  # late: it has the names of all kinds

    gv = GroupVersion.parse(api_version) if isinstance(api_version, str) and api_version else served.gv
    return wrong_kind(GVK(gv.group, gv.version, str(kind or served.kind)), served, whole=whole)


def _refuse_custom_type(obj: Obj, served: Served, shown: Callable[[], str]) -> NoReturn:
    """Refuse the other kind that a patch has made of a custom object: what does not decode first, as for any kind.

    Raises:
        APIError: 422.
    """
    gvk = served.gvk
    try:
        if why := _untyped(obj):
            raise DecodeError(f"couldn't get version/kind; json parse error: {why}")
        if (obj.get("apiVersion") or "").count("/") > 1:
            raise DecodeError(f"unexpected GroupVersion string: {obj['apiVersion']}")
        if not obj.get("kind"):
            raise DecodeError(f"Object 'Kind' is missing in '{shown()}'")
        _decode_any_metadata(obj)
    except DecodeError as error:
        raise _invalid_patch(shown(), str(error)) from error
    wanted = {"kind": gvk.kind, "apiVersion": gvk.api_version}
    errors = [
        field.invalid(key, obj.get(key) or "", f"must be {value}")
        for key, value in wanted.items()
        if obj.get(key) != value
    ]
    raise invalid(gvk.group, obj["kind"], _name(obj), errors)


def _wrong_custom_kind(value: Obj, served: Served) -> APIError:
    """Custom objects have no types that their kind could be found among: the version is compared, which no default is
    there for, then the kind.

    Raises:
        DecodeError: its metadata is none.
    """
    gvk, given = served.gvk, _given_type(value)
    _decode_any_metadata(value)
    if given.api_version != gvk.api_version:
        return bad_request(
            f"the API version in the data ({given.api_version}) does not match the expected API version"
            f" ({gvk.api_version})"
        )
    return invalid(gvk.group, given.kind, _name(value), [field.invalid("kind", given.kind, f"must be {gvk.kind}")])


def _given_type(value: Obj) -> GVK:
    """What a custom object says that it is; nothing where it says nothing."""
    group, _, version = (value.get("apiVersion") or "").rpartition("/")
    return GVK(group, version, value.get("kind") or "")


def _decode_any_metadata(value: Obj) -> None:
    """Metadata is decoded whatever an object's kind is. Raises DecodeError."""
    if "metadata" in value:
        decode_metadata(value)


def _name(value: Obj) -> str:
    return (value.get("metadata") or {}).get("name") or ""


def _set_type(value: Obj, served: Served) -> None:
    value["kind"], value["apiVersion"] = served.gvk.kind, served.api_version
    if value.get("metadata") is None:
        value["metadata"] = {}


def _warn_all(problems: Sequence[str], warn: Warn) -> None:
    for problem in problems:
        for line in (
            problem.removeprefix(_REPEATED_KEYS).split("\n  ") if problem.startswith(_REPEATED_KEYS) else [problem]
        ):
            warn(line)


def _invalid_patch(shown: str, why: str) -> APIError:
    error = invalid("", "", "", [field.invalid("patch", shown, why)])
    del error.details["kind"]  # nothing of a known kind has come out
    return error
