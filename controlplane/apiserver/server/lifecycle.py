"""The server's life as named moments, each reached once, that anybody may wait for or test.

Source: the names and order of kubernetes/apiserver ``pkg/server/lifecycle_signals.go``.
"""

from __future__ import annotations

import asyncio

from controlplane.base import logs

__all__ = ["Lifecycle", "Moment"]

log = logs.get(__name__)


class Moment:
    """Something that happens once."""

    __slots__ = ("_event", "name")

    def __init__(self, name: str) -> None:
        self.name, self._event = name, asyncio.Event()

    @property
    def reached(self) -> bool:
        return self._event.is_set()

    def reach(self) -> None:
        """It is so now. Again: nothing."""
        if not self._event.is_set():
            self._event.set()
            log.debug("lifecycle", moment=self.name)

    async def wait(self) -> None:
        await self._event.wait()


class Lifecycle:
    """All moments of one server, in the order in which they usually come."""

    def __init__(self) -> None:
        self.mux_and_discovery_complete = Moment("MuxAndDiscoveryComplete")
        self.has_been_ready = Moment("HasBeenReady")
        self.shutdown_initiated = Moment("ShutdownInitiated")
        self.after_shutdown_delay = Moment("AfterShutdownDelayDuration")
        self.pre_shutdown_hooks_stopped = Moment("PreShutdownHooksStopped")
        self.not_accepting_new_requests = Moment("NotAcceptingNewRequest")
        self.in_flight_drained = Moment("InFlightRequestsDrained")
        self.stopped_listening = Moment("HTTPServerStoppedListening")
