"""Continue tokens: where the next page of a list begins, and the revision all its pages show.

A token is base64url of JSON, unpadded: ``{"v":"meta.k8s.io/v1","rv":N,"start":"name\\u0000"}``, ``start`` being the
store key, below what was listed, after the last one returned. ``rv`` -1 continues at the latest state, for clients
whose revision has been forgotten and who accept a list that is not one snapshot.

Source: kubernetes/apiserver ``pkg/storage/continue.go``; either server reads the other's tokens.
"""

from __future__ import annotations

import base64
import posixpath
from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.status import APIError, bad_request

__all__ = ["LATEST", "Continue", "decode", "encode"]

LATEST = -1
"""Revision of a token that continues at the latest state."""

_VERSION = "meta.k8s.io/v1"
_DIGITS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_\r\n")
_TYPES: dict[str, tuple[type, str]] = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}


class Continue(NamedTuple):
    """``start``: the key to begin at, relative to what is listed (with a namespace before the name if that is all
    namespaces)."""

    revision: int
    start: str


def encode(token: Continue) -> str:
    text = dumps({"v": _VERSION, "rv": token.revision, "start": token.start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode(text: str) -> Continue:
    """Read a token.

    Raises:
        APIError: 400, saying why.
    """
    try:
        token = loads(_decoded(text))
    except (ValueError, MalformedJSON) as error:
        raise _invalid(f": {error}") from error
    if token is None:
        token = {}
    if problem := _mistyped(token):
        raise _invalid(f": json: cannot unmarshal {problem}")
    version, revision, start = token.get("v") or "", token.get("rv") or 0, token.get("start") or ""
    if version != _VERSION:
        raise _invalid(f": server does not recognize this encoded version {version}")
    if not revision:
        raise _invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _invalid(": encoded start key empty (version meta.k8s.io/v1)")
    relative = start.removeprefix("/")
    # a client may not climb out of what it listed (and POSIX lets two slashes at the start stand)
    if relative.startswith("/") or posixpath.normpath("/" + relative) != "/" + relative:
        raise _invalid(f": {start}")
    return Continue(revision, relative)


def _decoded(text: str) -> bytes:
    """Raises ValueError, in Go's words."""
    raw = text.encode()
    digits = raw.replace(b"\r", b"").replace(b"\n", b"")
    wrong = next((i for i, byte in enumerate(raw) if byte not in _DIGITS), -1)
    if wrong < 0 and len(digits) % 4 == 1:
        wrong = len(raw) - 1
    if wrong >= 0:
        raise ValueError(f"illegal base64 data at input byte {wrong}")
    return base64.urlsafe_b64decode(digits + b"=" * (-len(digits) % 4))


def _mistyped(token: Any) -> str:
    """What is not of its type; ``""`` if nothing."""
    if not isinstance(token, dict):
        return f"{json_kind(token)} into Go value of type storage.continueToken"
    for field, value in token.items():
        wanted = _TYPES.get(field)
        if wanted is not None and value is not None and type(value) is not wanted[0]:
            kind = f"number {value!r}" if type(value) is float and wanted[0] is int else json_kind(value)
            return f"{kind} into Go struct field continueToken.{field} of type {wanted[1]}"
    return ""


def _invalid(why: str) -> APIError:
    return bad_request(f"invalid continue token: continue key is not valid{why}")
