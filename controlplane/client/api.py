"""The client seam: how any code of ours talks to an API server, in this process or across a network.

``LoopbackClient`` (in process) and ``HTTPClient`` implement ``APIClient``; ``ResourceClient`` is the typed verbs of
one resource over either. Controllers are given an ``APIClient`` and nothing else, so they cannot tell the two apart.

Paths are percent-decoded (``/api/v1/namespaces/shop/configmaps``), queries are decoded pairs; the carrier encodes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from controlplane.client.request import Response

__all__ = ["JSON", "APIClient", "ByteStream", "QueryPairs"]

JSON = "application/json"

QueryPairs = Sequence[tuple[str, str]]
"""Query parameters, decoded, in order."""


class ByteStream(Protocol):
    """The body of an answer as it comes: pieces of any size, in order.

    Iteration ends when the sender ends the stream, and raises StreamBroken when it was cut.
    """

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def __anext__(self) -> bytes: ...


class APIClient(Protocol):
    """One identity's way to one API server. Safe to share between tasks."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: QueryPairs = (),
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request and read the whole answer, whatever its status.

        429 and 5xx answers with a Retry-After are tried again after that time, a bounded number of times.

        Args:
            headers: added to the client's own. ``content_type`` is sent if there is a body.

        Raises:
            Unreachable: no whole answer.
        """

    def stream(
        self, method: str, path: str, *, query: QueryPairs = (), headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[ByteStream]:
        """Open an answer that is read as it comes (a watch). Leaving the context ends it on both sides.

        Entering raises:
            APIError: any status but 2xx. Unreachable: no answer.
        """

    async def close(self) -> None:
        """Give up connections. Idempotent."""
