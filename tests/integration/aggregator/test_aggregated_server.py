"""A server of its own group behind the main one: its resources are had through the main server, as its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.aio import run
from tests.integration.aggregator.planes import (
    APISERVICES,
    GROUP,
    PATH,
    Main,
    aggregated,
    api_service,
    eventually,
    main_plane,
)

WIDGETS = f"{PATH}/namespaces/shop/widgets"


def widget(name: str, color: str = "red") -> dict[str, object]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": color}}


async def join(main: Main) -> None:
    status, body = await main.call("POST", APISERVICES, api_service(main))
    assert status == 201, body
    assert "conditions" not in (body.get("status") or {})

    async def joined() -> bool:
        return (await main.available() or ("",))[0] == "True" and await main.freshness() == ("Current", ["widgets"])

    await eventually(joined)


def test_its_resources_are_had_through_the_main_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            await join(main)
            assert await main.available() == ("True", "Passed", "all checks passed")
            status, made = await main.call("POST", WIDGETS, widget("one"))
            assert status == 201, made
            assert (await main.call("GET", f"{WIDGETS}/one"))[1] == made
            status, listed = await main.call("GET", f"{PATH}/widgets?limit=5")
            assert [item["metadata"]["name"] for item in listed["items"]] == ["one"]
            patch = {"Content-Type": "application/merge-patch+json"}
            status, body = await main.call("PATCH", f"{WIDGETS}/one", {"spec": {"color": "blue"}}, headers=patch)
            assert (status, body["spec"]["color"]) == (200, "blue")
            status, body = await main.call("POST", WIDGETS, widget("one"))
            assert (status, body["reason"]) == (409, "AlreadyExists")
            assert (await main.call("DELETE", f"{WIDGETS}/one"))[0] == 200
            assert (await main.call("GET", f"{WIDGETS}/one"))[0] == 404

    run(scenario())


def test_a_watch_comes_as_it_is_written_and_ends_with_its_client(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            await join(main)
            url = f"{main.plane.running.url}{WIDGETS}?watch=true"
            async with main.plane.http.get(url, ssl=main.plane.admin_tls) as stream:
                await main.call("POST", WIDGETS, widget("one"))
                event = json.loads(await asyncio.wait_for(stream.content.readline(), 5))
                assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "one")
                await main.call("DELETE", f"{WIDGETS}/one")
                event = json.loads(await asyncio.wait_for(stream.content.readline(), 5))
                assert event["type"] == "DELETED"

    run(scenario())


def test_discovery_lists_it_by_its_priorities(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            await join(main)
            _, groups = await main.call("GET", "/apis")
            names = [group["name"] for group in groups["groups"]]
            assert names[-1] == GROUP
            _, group = await main.call("GET", f"/apis/{GROUP}")
            assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
            _, version = await main.call("GET", PATH)
            assert [one["name"] for one in version["resources"]] == ["widgets"]
            _, index = await main.call("GET", "/")
            assert PATH in index["paths"]
            assert (await main.call("GET", f"{PATH}/gadgets"))[0] == 404
            assert (await main.call("DELETE", f"{APISERVICES}/v1.{GROUP}"))[0] == 200
            assert await main.freshness() is None
            assert (await main.call("GET", f"{PATH}/widgets"))[0] == 404

    run(scenario())


def test_it_goes_down_and_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main:
            async with aggregated(main) as other:
                await join(main)
                port = other.port
            status, text = await main.call("GET", f"{PATH}/widgets")
            assert status == 503
            why = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
            assert text == f"error trying to reach service: {why}\n"

            async def stale() -> bool:
                return await main.freshness() == ("Stale", ["widgets"])

            async def down() -> bool:
                return (await main.available() or ("",))[0] == "False"

            await eventually(stale)
            await eventually(down)
            url = f"https://127.0.0.1:{port}{PATH}"
            message = f'failing or missing response from {url}: Get "{url}": {why}'
            assert await main.available() == ("False", "FailedDiscoveryCheck", message)
            assert await main.call("GET", f"{PATH}/widgets") == (503, "service unavailable\n")
            async with aggregated(main, port=port):

                async def back() -> bool:
                    return (await main.call("GET", f"{PATH}/widgets"))[0] == 200

                await eventually(back)
                await eventually(lambda: _current(main))

    run(scenario())


async def _current(main: Main) -> bool:
    return await main.freshness() == ("Current", ["widgets"])
