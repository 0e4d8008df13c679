"""The connections to one server: kept ones first, the one used last before the others.

A few are made at a time. A burst of first requests would else be as many TLS handshakes at once, each of which takes
the longer the more there are, until all of them have taken too long. Who waits gets its turn to connect, or a
connection that has become free, whichever is sooner.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic

from controlplane.client.forward.exchange import Connection

__all__ = ["CONNECTS", "Pool", "Unanswered"]

CONNECTS = 4
"""Connections that are made at a time."""
IDLE_SECONDS = 90
"""After so long a kept connection is not used again: the other server may be about to close it."""


class Unanswered(Exception):
    """No answer came; the text says why, in the words of Go's client. ``was_sent``: the request may have been acted
    on."""

    def __init__(self, why: str, *, was_sent: bool = False) -> None:
        super().__init__(why)
        self.was_sent = was_sent


class Pool:
    """``connect`` makes a connection or raises Unanswered. Its connections are to be given to ``free`` when they may
    be asked anew; ``retired``, it keeps none. ``ended``: why nothing is to be sent here any more, ``""`` as long as
    something may be."""

    __slots__ = ("_connect", "_connecting", "_idle", "_made", "_open", "_waiting", "ended", "retired")

    def __init__(self, connect: Callable[[Pool], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._connecting = 0
        self._made = 0
        self.retired, self.ended = False, ""
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        """Each gets a connection, or None: its turn to connect. Nobody waits while fewer than CONNECTS are made."""

    def new(self) -> Connection:
        """For ``connect``: a connection that is to be opened."""
        return Connection(self.free, self._open.discard)

    def kept(self) -> Connection | None:
        """A connection that is open and idle."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if not connection.closed and monotonic() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    def retire(self) -> None:
        """Close what is idle; nobody will look for it here."""
        self.retired = True
        while self._idle:
            self._idle.pop().abort()

    def end(self, why: str) -> None:
        """Retire it, and break off what is under way."""
        self.ended = why
        self.retire()
        for connection in tuple(self._open):
            connection.abort()

    @property
    def is_empty(self) -> bool:
        """Whether no connection is open."""
        return not self._open

    async def connection(self) -> Connection:
        """A new connection, or one that has just become free.

        Raises:
            Unanswered: none can be made; or none was made while one failed, which then speaks for all that wait.
        """
        while self._connecting >= CONNECTS:
            given = await self._turn()
            if given is None:
                break
            if not given.closed:
                return given
        else:
            self._connecting += 1
        made_before = self._made
        try:
            connection = await self._connect(self)
        except Unanswered as error:
            if self._made == made_before:
                self._fail(error)
            raise
        else:
            self._made += 1
            if not connection.closed:
                self._open.add(connection)
            return connection
        finally:
            self._pass_turn()

    def free(self, connection: Connection) -> None:
        """Take back a connection whose answer has come whole."""
        if self.retired:
            connection.abort()
            return
        connection.idle_since = monotonic()
        if not self._waiting or not self._give(connection):
            self._idle.append(connection)

    async def _turn(self) -> Connection | None:
        waiting: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                given = waiting.result()  # for nobody
                if given is not None:
                    self.free(given)
                else:
                    self._pass_turn()
            raise

    def _pass_turn(self) -> None:
        if not self._give(None):
            self._connecting -= 1

    def _give(self, given: Connection | None) -> bool:
        """To who waits longest; whether somebody waits."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(given)
                return True
        return False

    def _fail(self, error: Unanswered) -> None:
        waiting, self._waiting = self._waiting, deque()
        for one in waiting:
            if not one.done():
                one.set_exception(Unanswered(str(error)))
