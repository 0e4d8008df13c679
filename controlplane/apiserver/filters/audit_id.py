"""Every request and its answer carry an Audit-Id: the client's own, or a new one. A peer's answers go without, since it
has given the id and writes it to its client itself.

Source: kubernetes/apiserver ``pkg/endpoints/filters`` (WithAuditInit).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from secrets import randbits
from uuid import uuid4

from multidict import istr

from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.client.request import Handler, Request, Response

__all__ = ["audit_ids", "with_audit_id"]

_HEADER = istr("Audit-Id")
_LIMIT = 1024
"""Longer ids from clients are replaced: they would be copied into every log line."""


def audit_ids() -> Callable[[], str]:
    """A source of UUIDs of version 4: most digits are drawn once, the last twelve count on from a random start. They
    need to be unique, not secret, and drawing each anew would be a tenth of all filters together."""
    head = str(uuid4())[:24]
    numbers = count(randbits(48))
    return lambda: f"{head}{next(numbers) & 0xFFFFFFFFFFFF:012x}"


def with_audit_id(following: Handler) -> Handler:
    """Set ``request.audit_id`` and send it back."""
    new_audit_id = audit_ids()

    async def handle(request: Request) -> Response:
        given = request.audit_id or request.headers.get(_HEADER)
        request.audit_id = given if given and len(given) <= _LIMIT else new_audit_id()
        response = await following(request)
        if FROM_PEER not in request.values:
            response.headers.append(("Audit-Id", request.audit_id))
        return response

    return handle
