"""The head of a request to another server, as bytes.

Source: RFC 9112; kubernetes/apimachinery ``pkg/util/proxy`` for how paths are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from controlplane.client.webhook import Endpoint

__all__ = ["header_lines", "quoted_path", "request_head", "version_and_host"]

_PATH_SAFE = "/:@!$&'()*+,;=~"
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/:@!$&'()*+,;=~-]*")
_BREAKS = re.compile(r"[\r\n]")


def header_lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The headers, each with its line break. Line breaks in them, which would be headers of their own, become
    spaces."""
    lines = [f"{name}: {value}" for name, value in headers]
    text = "".join(lines)
    if "\r" in text or "\n" in text:
        lines = [_BREAKS.sub(" ", line) for line in lines]
    return "".join([f"{line}\r\n" for line in lines]).encode("utf-8", "surrogateescape")


def quoted_path(path: str) -> str:
    """A decoded path as it is sent."""
    return path if _PLAIN_PATH.fullmatch(path) else quote(path, safe=_PATH_SAFE)


def request_head(method: str, target: str, endpoint: Endpoint, lines: bytes) -> bytes:
    """The whole head, with the empty line after it. ``lines``: its headers but Host, as ``header_lines`` makes them."""
    if "\n" in target or "\r" in target:
        target = _BREAKS.sub(" ", target)
    first = f"{method} {target} {version_and_host(endpoint)}"
    return first.encode("utf-8", "surrogateescape") + lines + b"\r\n"


@lru_cache(maxsize=256)
def version_and_host(endpoint: Endpoint) -> str:
    """What comes after a target."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"HTTP/1.1\r\nHost: {host}:{endpoint.port}\r\n"
