"""gzip of large bodies, in a thread of the listener's own.

Only bodies over ``THRESHOLD_BYTES`` are worth it; zlib lets go of the interpreter while it works, so the loop goes on.

Source: the threshold and level of kubernetes/apiserver ``responsewriters`` (gate APIResponseCompression).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor

__all__ = ["THRESHOLD_BYTES", "Compressor", "accepts_gzip"]

THRESHOLD_BYTES = 128 * 1024
_LEVEL = 1
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the client named gzip (any weight but none at all, as upstream reads it)."""
    return any(token.partition(";")[0].strip() == "gzip" for token in accept_encoding.split(","))


class Compressor:
    """One owned thread that compresses. Use ``compress`` from the loop; ``close`` at the end."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gzip")

    async def compress(self, slices: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The gzip of all ``slices`` together, in pieces, each made while the one before it is being sent."""
        loop = asyncio.get_running_loop()
        stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        pending: asyncio.Future[bytes] | None = None
        try:
            for piece in slices:
                following = loop.run_in_executor(self._thread, stream.compress, piece)
                if pending is not None:
                    made, pending = await pending, following
                    if made:
                        yield made
                else:
                    pending = following
            if pending is not None:
                made, pending = await pending, None
                if made:
                    yield made
            yield await loop.run_in_executor(self._thread, stream.flush)
        finally:
            if pending is not None:
                pending.cancel()

    def close(self) -> None:
        """Stop the thread; what is being compressed is given up."""
        self._thread.shutdown(wait=True, cancel_futures=True)
