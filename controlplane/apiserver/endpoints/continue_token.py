"""Continue tokens: where the next page of a list begins, and the revision all its pages show.

A token is base64url of JSON, unpadded: ``{"v":"meta.k8s.io/v1","rv":N,"start":"name\\u0000"}``, ``start`` being the
store key, below what was listed, after the last one returned. ``rv`` -1 continues at the latest state, for clients
whose revision has been forgotten and who accept a list that is not one snapshot.

Source: kubernetes/apiserver ``pkg/storage/continue.go``; either server reads the other's tokens.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
from typing import NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.status import APIError, bad_request

__all__ = ["LATEST", "Continue", "decode", "encode"]

LATEST = -1
"""Revision of a token that continues at the latest state."""

_VERSION = "meta.k8s.io/v1"


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
    if "=" in text or "+" in text or "/" in text:
        raise _invalid(": illegal base64 data")
    if len(text) % 4 == 1 and text.replace("-", "").replace("_", "").isalnum():
        raise _invalid(f": illegal base64 data at input byte {len(text) - 1}")
    try:
        token = loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, MalformedJSON) as error:
        raise _invalid(f": {error}") from error
    if not isinstance(token, dict):
        raise _invalid(": not an object")
    version, revision, start = token.get("v", ""), token.get("rv", 0), token.get("start", "")
    if version != _VERSION:
        raise _invalid(f": server does not recognize this encoded version {version}")
    if not isinstance(revision, int) or revision == 0:
        raise _invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _invalid(": encoded start key empty (version meta.k8s.io/v1)")
    relative = start.removeprefix("/")
    if posixpath.normpath("/" + relative) != "/" + relative:  # a client may not climb out of what it listed
        raise _invalid(f": {start}")
    return Continue(revision, relative)


def _invalid(why: str) -> APIError:
    return bad_request(f"invalid continue token: continue key is not valid{why}")
