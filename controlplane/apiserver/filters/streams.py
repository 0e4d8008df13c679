"""What a filter does around a stream: its bytes are written after the filter has returned."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.client.request import Sink, StreamResponse

__all__ = ["around_stream"]


def around_stream(response: StreamResponse, *, began: Callable[[], None], ended: Callable[[], None]) -> None:
    """Call ``began`` when the stream begins to be written and ``ended`` when it has ended, however it does.

    A stream that is never written (a HEAD request, a client that has gone) calls neither.
    """
    run = response.run

    async def run_and_tell(sink: Sink) -> None:
        began()
        try:
            await run(sink)
        finally:
            ended()

    response.run = run_and_tell
