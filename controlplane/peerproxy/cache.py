"""What each live peer serves, as it last said; asked again when a peer comes, moves or is started anew, and when it
tells that it serves something else, if this server would not see that in the store.

A peer is asked by one task at a time, again and again until it answers: at first soon, then ever more slowly. What it
said before counts meanwhile, marked as stale. A peer that has never answered is *unheard*: nobody knows what it serves.

Source: the role of kubernetes/apiserver ``pkg/util/peerproxy/peer_discovery.go``, which gives up after 20 tries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.registry.peers import Peer, PeerOpenAPI, Peers
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tasks import Owner, cancel_and_wait
from controlplane.base.values import dataclass
from controlplane.peerproxy.discovery import AskFailed
from controlplane.peerproxy.fetch import Fetch, Resources
from controlplane.peerproxy.metrics import FETCH_DISCOVERY, PEERS, SYNC_ERRORS
from controlplane.peerproxy.told import SERVES_ANNOTATION

__all__ = ["Heard", "PeerCache"]

log = logs.get(__name__)

FIRST_SECONDS, LONGEST_SECONDS = 0.005, 10.0
"""Between two tries; doubled each time."""
ASK_SECONDS = 5.0
"""For one answer. OpenAPI is asked for later and may take longer."""
QUIET_SECONDS = 60.0
"""Between two lines about one failure of one peer that somebody must put right."""
UNHEARD = (
    "until the peer has said what it serves, this server answers 503 for all that it does not know: see why the peer "
    "does not answer, or end it; 15 s after its process has ended it counts no more"
)
"""What to do about a peer that does not answer for a minute, though nothing is wrong with its trust or ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a peer has said. ``groups``: in the aggregated form, all of them. ``current``: by this very process of it,
    at this address."""

    groups: tuple[Obj, ...]
    legacy: Mapping[GroupVersion, Mapping[str, Obj]] = field(default_factory=dict)
    openapi: Mapping[GroupVersion, PeerOpenAPI] = field(default_factory=dict)
    current: bool = True


class PeerCache:
    """``heard``: by server id. ``changed`` is called after it has changed. ``sees_all`` tells whether this server sees
    in the store what peers serve otherwise while they run.

    Nothing is asked before ``begin``; until then all peers are unheard.
    """

    def __init__(
        self,
        peers: Peers,
        fetch: Fetch,
        *,
        changed: Callable[[], None],
        sees_all: Callable[[], bool],
        clock: Clock,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._peers, self._fetch, self._changed, self._clock = peers, fetch, changed, clock
        self._sees_all = sees_all
        self.heard: dict[str, Heard] = {}
        self._begun = self._closed = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._waiting: set[str] = set(peers.peers)
        self._told: dict[str, tuple[str, float]] = {}
        self._tried = asyncio.Event()
        self._owner = Owner("peer-discovery", on_failure=on_failure)
        self._stop = peers.follow(self._follow)
        self._look()

    def unheard(self) -> list[str]:
        """Live peers of which nobody knows what they serve, by id."""
        return [id_ for id_ in self._peers.peers if id_ not in self.heard]

    async def tried(self) -> None:
        """Wait until every live peer has been asked once, whatever came of it."""
        await self._tried.wait()

    def begin(self) -> None:
        """Ask the peers, from now on."""
        self._begun = True
        for peer in self._peers.peers.values():
            self._ask(peer)

    def ask_again(self, id_: str) -> None:
        """What a peer said is doubtful. Nothing is done if it has been asked a moment ago."""
        peer = self._peers.peers.get(id_)
        now = self._clock.monotonic()
        if peer is not None and self._begun and now - self._asked_at.get(id_, now) >= LONGEST_SECONDS:
            self._ask(peer)

    async def close(self) -> None:
        """Ask no more. Idempotent."""
        if not self._closed:
            self._closed, self._begun = True, False
            self._stop()
        await self._owner.close()

    def _follow(self, old: Peer | None, new: Peer | None) -> None:
        id_ = new.server_id if new is not None else old.server_id if old is not None else self._peers.own_id
        if id_ == self._peers.own_id:
            return
        if new is None:
            self._waiting.discard(id_)
            self._asked_at.pop(id_, None)
            task = self._tasks.pop(id_, None)
            if task is not None:
                task.cancel()
            if self.heard.pop(id_, None) is not None:
                self._changed()
            self._look()
        elif old is None or _process(old) != _process(new) or (_serves(old) != _serves(new) and not self._sees_all()):
            if id_ not in self.heard:
                self._waiting.add(id_)
            self._look()
            if self._begun:
                self._ask(new)

    def _look(self) -> None:
        """Set whether all have been asked, and count what is known of whom."""
        current = sum(heard.current for heard in self.heard.values())
        for state, count in (
            ("heard", current),
            ("stale", len(self.heard) - current),
            ("unheard", len(self.unheard())),
        ):
            PEERS.labels_cached((state,)).set(count)
        if self._waiting:
            self._tried.clear()
        else:
            self._tried.set()

    def _ask(self, peer: Peer) -> None:
        before = self._tasks.get(peer.server_id)
        self._tasks[peer.server_id] = self._owner.start(self._hear(peer, before), name=peer.server_id)

    async def _hear(self, peer: Peer, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await cancel_and_wait([before])
        id_ = peer.server_id
        heard = await self._resources(peer)
        self._learn(id_, Heard(groups=heard.groups, legacy=heard.legacy, openapi=self._known_openapi(id_)))
        log.info("heard what a peer serves", peer=id_, groups=len(heard.groups))
        await self._openapi(peer)

    async def _resources(self, peer: Peer) -> Resources:
        """Ask until there is an answer."""
        pause = FIRST_SECONDS
        while True:
            self._asked_at[peer.server_id] = self._clock.monotonic()
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    return await self._fetch.resources(peer)
            except (AskFailed, TimeoutError) as error:
                self._failed(peer, error)
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_SECONDS)

    def _known_openapi(self, id_: str) -> Mapping[GroupVersion, PeerOpenAPI]:
        known = self.heard.get(id_)
        return known.openapi if known is not None else {}

    async def _openapi(self, peer: Peer) -> None:
        """OpenAPI takes its server long to build, and nothing else waits for it."""
        pause = FIRST_SECONDS
        while True:
            heard = self.heard[peer.server_id]
            try:
                openapi = await self._fetch.openapi(peer, heard.groups)
            except AskFailed as error:
                log.info("OpenAPI of a peer cannot be had", peer=peer.server_id, error=str(error))
            else:
                if openapi != heard.openapi:
                    self._learn(peer.server_id, replace(heard, openapi=openapi))
                return
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_SECONDS)

    def _learn(self, id_: str, heard: Heard) -> None:
        self._waiting.discard(id_)
        self.heard[id_] = heard
        self._changed()
        self._look()

    def _failed(self, peer: Peer, error: AskFailed | TimeoutError) -> None:
        id_ = peer.server_id
        SYNC_ERRORS.labels_cached((FETCH_DISCOVERY,)).inc()
        why = str(error) or f"no answer in {ASK_SECONDS:g} s"
        remedy = error.remedy if isinstance(error, AskFailed) else ""
        first, known = id_ in self._waiting, self.heard.get(id_)
        if remedy:
            self._tell(id_, why, remedy)
        elif first or (known is not None and known.current):
            log.warning("a peer cannot be asked what it serves", peer=id_, error=why)
            self._told[id_] = why, self._clock.monotonic() + QUIET_SECONDS
        elif known is None:
            self._tell(id_, why, UNHEARD)
        if known is not None and known.current:
            self._learn(id_, replace(known, current=False))
        self._waiting.discard(id_)
        self._look()

    def _tell(self, id_: str, why: str, remedy: str) -> None:
        """Say what is to be put right; the same again only now and then, for as long as nobody does."""
        now, (told, quiet_until) = self._clock.monotonic(), self._told.get(id_, ("", 0.0))
        if why != told or now >= quiet_until:
            self._told[id_] = why, now + QUIET_SECONDS
            log.error("a peer cannot be asked what it serves", peer=id_, error=why, do=remedy)


def _serves(peer: Peer) -> str:
    return peer.annotations.get(SERVES_ANNOTATION, "")


def _process(peer: Peer) -> tuple[str, int, str]:
    return peer.host, peer.port, peer.holder
