"""Where documents of OpenAPI 3.0 are."""

from __future__ import annotations

__all__ = ["PREFIX", "hashed_url"]

PREFIX = "/openapi/v3"


def hashed_url(key: str, digest: str) -> str:
    """Where a document is that never changes: ``/openapi/v3/api/v1?hash=…``."""
    return f"{PREFIX}/{key}?hash={digest}"
