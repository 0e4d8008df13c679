"""Requests for another protocol whose resource only a peer serves: they go through, or are refused at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from controlplane.client.resources import ResourceClient
from tests.aio import run
from tests.integration.peerproxy.fleet import admin_tls, fleet
from tests.integration.peerproxy.kinds import GADGETS

COLLECTION = f"/apis/{GADGETS.gv}/namespaces/default/gadgets"


def test_a_watch_over_a_websocket_goes_through_and_ends_with_the_peer(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (made, planes), aiohttp.ClientSession() as http, asyncio.timeout(20):
            a, tls = planes["a"], admin_tls(planes["a"])
            gadgets = ResourceClient(planes["b"].client(), GADGETS, namespaced=True)
            origin = "https://here.example"
            async with http.ws_connect(f"{a.url}{COLLECTION}?watch=true", ssl=tls, origin=origin) as socket:
                one = {
                    "apiVersion": str(GADGETS.gv),
                    "kind": "Gadget",
                    "metadata": {"name": "g", "namespace": "default"},
                }
                await gadgets.create(one)
                message = await socket.receive()
                assert message.type is aiohttp.WSMsgType.TEXT
                assert message.json()["object"]["metadata"]["name"] == "g"
                await made.stop("b")
                assert (await socket.receive()).type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}

    run(main())


def test_what_has_no_other_protocol_is_refused_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (_, planes), aiohttp.ClientSession() as http, asyncio.timeout(20):
            a, tls = planes["a"], admin_tls(planes["a"])
            asks = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
            async with http.get(f"{a.url}{COLLECTION}/none", ssl=tls, headers=asks) as answer:
                assert (answer.status, (await answer.json())["reason"]) == (404, "NotFound"), "the peer's own answer"
            async with http.get(f"{a.url}{COLLECTION}", ssl=tls, headers=asks) as answer:
                assert answer.status == 503
                assert "invalid upgrade response: status code 200" in (await answer.json())["message"]
            async with http.get(f"{a.url}{COLLECTION}", ssl=tls) as answer:
                assert answer.status == 200, "and other requests go on"

    run(main())
