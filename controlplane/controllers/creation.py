"""Making what every namespace has."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.resources import ResourceClient

__all__ = ["create_unless_ending"]


async def create_unless_ending(client: ResourceClient, obj: Obj) -> None:
    """Create an object, unless somebody has meanwhile, or its namespace is gone or going.

    Raises:
        APIError: any other refusal.
    """
    try:
        await client.create(obj)
    except APIError as e:
        causes = {cause.get("reason") for cause in e.details.get("causes") or ()}
        if e.reason not in ("AlreadyExists", "NotFound") and "NamespaceTerminating" not in causes:
            raise
