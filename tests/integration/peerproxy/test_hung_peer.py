"""A peer that keeps its connections and never answers, as a stopped process does: nobody waits for it longer than its
record lives. Two servers that start together do not wait for each other, and each is ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controlplane.apiserver.filters.chain import Filter, insert_before
from controlplane.client.forward.transport import ForwardTransport
from controlplane.client.request import Handler, Request, Response
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.peerproxy import source
from controlplane.peerproxy.discovery import PeerDocuments
from controlplane.peerproxy.trust import PeerTrust
from tests.aio import run
from tests.integration.peerproxy.fleet import fleet, heard, impatient
from tests.integration.peerproxy.kinds import GADGETS, WIDGETS, serve_a, serve_b

RECORDS = b"/registry/peerserverleases/"
HUNG = f"/apis/{GADGETS.gv}/namespaces/hung/gadgets"


class Hanging:
    """A server that takes requests for one path and answers none. ``taken``: it has as many as it is to have."""

    def __init__(self, path: str, *, requests: int = 1) -> None:
        self.path, self.taken, self._left = path, asyncio.Event(), requests

    def __call__(self, config: Config) -> None:
        config.filters = insert_before(
            config.filters, "impersonation", Filter("hang", lambda following, _config: self._handler(following))
        )

    def _handler(self, following: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            if request.path == self.path:
                self._left -= 1
                if self._left <= 0:
                    self.taken.set()
                await asyncio.Event().wait()
            return await following(request)

        return handle


def test_what_a_peer_was_sent_ends_with_its_record(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes):
            a, hanging = planes["a"], Hanging(HUNG, requests=2)
            b = await made.start("b", serve_b, hanging)
            await heard(a, 1)
            gadgets = ResourceClient(a.client(), GADGETS, namespaced=True)
            created = await gadgets.create(
                {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}}
            )
            version = created["metadata"]["resourceVersion"]
            async with gadgets.watch("default", resource_version=version) as events, asyncio.timeout(10):
                asked = asyncio.gather(*(impatient(a).request(method, HUNG, body=b"{}") for method in ("GET", "POST")))
                await hanging.taken.wait()
                await made.store.remove(RECORDS + b.control_plane.presence.server.id.encode())
                read, written = await asked
                assert [event async for event in events] == [], "it ends as a whole answer does"
            assert (read.status, ("Retry-After", "1") in read.headers) == (503, True)
            assert (written.status, [name for name, _ in written.headers if name == "Retry-After"]) == (503, [])
            assert b"may have been done" in written.content()

    run(main())


def test_who_asks_a_hung_peer_for_another_protocol_is_told_when_its_record_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes):
            a, hanging = planes["a"], Hanging(HUNG)
            b = await made.start("b", serve_b, hanging)
            await heard(a, 1)
            headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
            query = [("watch", "true")]
            asking = asyncio.create_task(impatient(a).request("GET", HUNG, query=query, headers=headers))
            async with asyncio.timeout(10):
                await hanging.taken.wait()
                await made.store.remove(RECORDS + b.control_plane.presence.server.id.encode())
                assert (await asking).status == 503

    run(main())


def test_a_server_that_has_not_heard_a_peer_answers_peers_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or two that start together would each wait for what the other serves, before saying what it serves itself."""
    monkeypatch.setattr(source, "FIRST_HEARING_SECONDS", 60.0)

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, _):
            hanging = Hanging("/api")
            b = await made.start("b", serve_b, hanging)
            await hanging.taken.wait()
            (a,) = b.control_plane.presence.records.peers.values()
            files = made.files
            transport = ForwardTransport(cert_file=str(files.proxy_cert), key_file=str(files.proxy_key))
            documents = PeerDocuments(transport, PeerTrust(str(files.certs / "serving-ca.crt")))
            async with asyncio.timeout(2):
                groups = await documents.groups(a)
            assert WIDGETS.group in {group["metadata"].get("name") for group in groups}
            await transport.close()

    run(main())


def test_servers_that_start_together_hear_each_other_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of them made when it ran before, and the other sweeps away at its start, is made again, too."""
    monkeypatch.setattr(source, "FIRST_HEARING_SECONDS", 60.0)

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, _), asyncio.timeout(10):
            await made.stop("a")
            both = await asyncio.gather(made.start("a", serve_a), made.start("b", serve_b))
            for plane in both:
                await heard(plane, 1)

    run(main())
