"""Who a write is by, as managed fields name it.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/create.go`` (managerOrUserAgent).
"""

from __future__ import annotations

from functools import lru_cache

from controlplane.apimachinery.validation.metadata import FIELD_MANAGER_BYTES
from controlplane.apiserver.endpoints.options import WriteOptions
from controlplane.client.request import Request

__all__ = ["manager_name"]

_LONGEST_REMEMBERED = 256


def manager_name(options: WriteOptions, request: Request) -> str:
    """The manager that the request names, or the program that its user agent names."""
    if options.field_manager:
        return options.field_manager
    agent = request.headers.get("User-Agent") or ""
    return _program(agent) if len(agent) <= _LONGEST_REMEMBERED else _program.__wrapped__(agent)


@lru_cache(maxsize=512)
def _program(agent: str) -> str:
    """What stands before the first slash: printable characters, as many as fit."""
    kept: list[str] = []
    size_bytes = 0
    for char in agent.partition("/")[0]:
        if not char.isprintable():
            continue
        size_bytes += len(char.encode(errors="surrogateescape"))
        if size_bytes > FIELD_MANAGER_BYTES:
            break
        kept.append(char)
    return "".join(kept)
