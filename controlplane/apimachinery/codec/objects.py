"""The stored form of an object, and its resource version spliced in and out without decoding.

What is stored is what kube-apiserver stores with ``--storage-media-type=application/json``: the object's JSON without
``metadata.resourceVersion`` (the store's own revision says it) and without ``metadata.selfLink``. Native kinds begin
with kind and apiVersion, then metadata; custom resources with apiVersion and kind. Inside, keys are sorted, so that
equal objects give equal bytes and an update that changes nothing is seen as such.

Because the head is fixed, serving an object is one insertion at a known place. Bytes that someone else wrote in another
layout are for the caller to decode.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from controlplane.apimachinery.codec.json import dumps, dumps_sorted, loads_unbounded
from controlplane.apimachinery.identity import GVK, Obj

__all__ = ["decode_metadata", "encode_revised", "encode_stored", "splice_revision", "strip_revision"]

_HEAD = re.compile(rb'\{"(?:kind":"[^"\\]*","apiVersion|apiVersion":"[^"\\]*","kind)":"[^"\\]*","metadata":\{')
_METADATA = b'"metadata":{'
_HEADS_REMEMBERED = 4096
"""More kinds than a server has; a bound nevertheless, because stored bytes decide what is remembered."""
_heads_seen: set[bytes] = set()
"""Heads that have matched ``_HEAD``: a set lookup costs half of the match, on the path of every object served."""
_REVISION = re.compile(rb'"resourceVersion":"([0-9]+)",?')
_NEWLINE = 0x0A
_LARGE_BYTES = 16 * 1024
"""From here on decoding the metadata alone is faster than decoding all, though by a slower parser."""
_PARSER = json.JSONDecoder()


@lru_cache(maxsize=4096)
def _head(gvk: GVK, native: bool) -> bytes:  # noqa: FBT001  # a cache key
    kind, api_version = dumps(gvk.kind), dumps(gvk.api_version)
    if native:
        return b'{"kind":' + kind + b',"apiVersion":' + api_version + b',"metadata":'
    return b'{"apiVersion":' + api_version + b',"kind":' + kind + b',"metadata":'


def _metadata_start(encoded: bytes) -> int:
    """Where the fields of the top-level metadata begin, or 0 if the layout is another."""
    at = encoded.find(_METADATA) + len(_METADATA)
    if encoded[:at] in _heads_seen:
        return at
    found = _HEAD.match(encoded)
    if found is None:
        return 0
    if len(_heads_seen) < _HEADS_REMEMBERED:
        _heads_seen.add(found[0])
    return found.end()


def encode_stored(obj: Obj, gvk: GVK, *, native: bool = True) -> bytes:
    """Encode for the store. ``gvk`` is the storage version's; it replaces the object's own kind and apiVersion.

    Raises:
        TooDeep: nested deeper than JSON can be written.
    """
    fields = dict(obj)
    metadata = fields.pop("metadata", None) or {}
    fields.pop("kind", None)
    fields.pop("apiVersion", None)
    if "resourceVersion" in metadata or "selfLink" in metadata:
        metadata = dict(metadata)
        metadata.pop("resourceVersion", None)
        metadata.pop("selfLink", None)
    head = _head(gvk, native) + dumps_sorted(metadata)
    return head + b"," + dumps_sorted(fields)[1:] if fields else head + b"}"


def decode_metadata(encoded: bytes) -> Obj:
    """The metadata of an object whose JSON has been checked. Nothing else of a large one is decoded."""
    at = _metadata_start(encoded) if len(encoded) >= _LARGE_BYTES else 0
    obj = _PARSER.raw_decode(encoded[at - 1 :].decode())[0] if at else loads_unbounded(encoded).get("metadata") or {}
    made: Obj = obj
    return made


def splice_revision(stored: bytes, revision: int) -> bytes | None:
    """Stored bytes with ``metadata.resourceVersion`` set to ``revision``.

    Returns:
        None if the bytes have another layout than ``encode_stored``'s, or may carry a resource version already: then
        the caller decodes.
    """
    at = _metadata_start(stored)
    if not at or stored.find(b'"resourceVersion":', at) >= 0:
        return None
    return _spliced(stored, at, revision)


def encode_revised(obj: Obj, gvk: GVK, revision: int, *, native: bool = True) -> bytes:
    """``encode_stored`` with ``metadata.resourceVersion`` set, also of objects that have a field of that name elsewhere
    (an event's involved object)."""
    encoded = encode_stored(obj, gvk, native=native)
    return _spliced(encoded, _metadata_start(encoded), revision)


def _spliced(stored: bytes, at: int, revision: int) -> bytes:
    """``at``: where the fields of the metadata begin."""
    # kube-apiserver ends what it stores with a newline, which would break the lines of a watch
    tail = stored[at:-1] if stored[-1] == _NEWLINE else stored[at:]
    if tail[:1] == b"}":
        return stored[:at] + b'"resourceVersion":"%d"' % revision + tail
    return stored[:at] + b'"resourceVersion":"%d",' % revision + tail


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
