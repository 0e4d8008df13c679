"""The stored form of an object, and its resource version spliced in and out without decoding.

What is stored is what kube-apiserver stores with ``--storage-media-type=application/json``: the object's JSON without
``metadata.resourceVersion`` (the store's own revision says it) and without ``metadata.selfLink``. Native kinds begin
with kind and apiVersion, then metadata; custom resources with apiVersion and kind. Inside, keys are sorted, so that
equal objects give equal bytes and an update that changes nothing is seen as such.

Because the head is fixed, serving an object is one insertion at a known place: ``splice_revision``. Bytes that someone
else wrote in another layout are decoded and encoded instead: ``with_revision`` does whichever is needed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, dumps_sorted, loads
from controlplane.apimachinery.identity import GVK, Obj

__all__ = ["encode_stored", "splice_revision", "strip_revision", "with_revision"]

_HEAD = re.compile(rb'\{"(?:kind":"[^"\\]*","apiVersion|apiVersion":"[^"\\]*","kind)":"[^"\\]*","metadata":\{')
_METADATA = b'"metadata":{'
_HEAD_BYTES = 1024
"""Kinds and groups are at most 63 and 253 characters, versions 63: no head is longer."""
_REVISION = re.compile(rb'"resourceVersion":"([0-9]+)",?')
_HEADER_FIELDS = frozenset({"kind", "apiVersion", "metadata"})
_NEVER_STORED = frozenset({"resourceVersion", "selfLink"})


@lru_cache(maxsize=4096)
def _head(gvk: GVK, *, native: bool) -> bytes:
    kind, api_version = dumps(gvk.kind), dumps(gvk.api_version)
    if native:
        return b'{"kind":' + kind + b',"apiVersion":' + api_version + b',"metadata":'
    return b'{"apiVersion":' + api_version + b',"kind":' + kind + b',"metadata":'


@lru_cache(maxsize=4096)
def _is_head(prefix: bytes) -> bool:
    return _HEAD.fullmatch(prefix) is not None


def _metadata_start(encoded: bytes) -> int:
    """Where the fields of the top-level metadata begin, or 0 if the layout is another."""
    at = encoded.find(_METADATA, 0, _HEAD_BYTES) + len(_METADATA)
    return at if at >= len(_METADATA) and _is_head(encoded[:at]) else 0


def encode_stored(obj: Obj, gvk: GVK, *, native: bool = True) -> bytes:
    """Encode for the store. ``gvk`` is the storage version's; it replaces the object's own kind and apiVersion.

    Raises:
        TooDeep: nested deeper than JSON can be written.
    """
    metadata = obj.get("metadata") or {}
    if "resourceVersion" in metadata or "selfLink" in metadata:
        metadata = {k: v for k, v in metadata.items() if k not in _NEVER_STORED}
    rest = dumps_sorted({k: v for k, v in obj.items() if k not in _HEADER_FIELDS})
    head = _head(gvk, native=native) + dumps_sorted(metadata)
    return head + b"," + rest[1:] if len(rest) > 2 else head + b"}"


def splice_revision(stored: bytes, revision: int) -> bytes | None:
    """Stored bytes with ``metadata.resourceVersion`` set to ``revision``.

    Returns:
        None if the bytes have another layout than ``encode_stored``'s, or may carry a resource version already: then
        the caller decodes (or calls ``with_revision`` to begin with).
    """
    at = _metadata_start(stored)
    if not at or stored.find(b'"resourceVersion":', at) >= 0:
        return None
    comma = b"" if stored[at : at + 1] == b"}" else b","
    # kube-apiserver ends what it stores with a newline, which would break the lines of a watch
    end = len(stored) - 1 if stored[-1] == 0x0A else len(stored)
    return b'%b"resourceVersion":"%d"%b%b' % (stored[:at], revision, comma, stored[at:end])


def strip_revision(served: bytes) -> bytes | None:
    """The inverse of ``splice_revision``: the bytes without the resource version at the start of the metadata.

    Returns:
        None if it is not there.
    """
    at = _metadata_start(served)
    found = _REVISION.match(served, at) if at else None
    if found is None:
        return None
    return served[: found.start()] + served[found.end() :]


def with_revision(stored: bytes, revision: int) -> bytes:
    """Stored bytes with ``metadata.resourceVersion`` set to ``revision``, whatever their layout.

    Raises:
        MalformedJSON: the bytes are not a JSON object.
    """
    spliced = splice_revision(stored, revision)
    if spliced is not None:
        return spliced
    obj = loads(stored)
    if not isinstance(obj, dict):
        raise MalformedJSON("a stored object must be a JSON object")
    metadata = obj.get("metadata")
    obj["metadata"] = {**metadata, "resourceVersion": str(revision)} if metadata else {"resourceVersion": str(revision)}
    return dumps(obj)
