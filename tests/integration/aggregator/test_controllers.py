"""Controllers take what cannot be discovered for unknown, never for absent."""

from __future__ import annotations

from pathlib import Path

from controlplane.controllers.builtin import BUILTIN
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.aggregator.planes import GROUP, aggregated, eventually, main_plane
from tests.integration.aggregator.test_aggregated_server import join

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
UNREAD = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs"


def all_controllers(config: Config) -> None:
    config.controllers = list(BUILTIN)


def test_nothing_is_collected_and_no_namespace_ends_while_a_group_is_stale(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path, all_controllers) as main:
            async with aggregated(main) as other:
                await join(main)
                port = other.port
            await main.call("GET", f"/apis/{GROUP}/v1/widgets")  # somebody notices

            async def stale() -> bool:
                return await main.freshness() == ("Stale", ["widgets"])

            await eventually(stale)
            owner = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "name": "gone", "uid": "of-nobody"}
            owned = {"metadata": {"name": "owned", "ownerReferences": [owner]}}
            assert (await main.call("POST", CONFIGMAPS, owned))[0] == 201
            for name in ("shop",):
                assert (await main.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))[0] == 201
                assert (await main.call("DELETE", f"/api/v1/namespaces/{name}"))[0] == 200

            async def told() -> bool:
                _, namespace = await main.call("GET", "/api/v1/namespaces/shop")
                conditions = (namespace.get("status") or {}).get("conditions") or ()
                why = {one["message"] for one in conditions if one["status"] == "True"}
                return why == {f"{UNREAD}: {GROUP}/v1: stale GroupVersion discovery: {GROUP}/v1"}

            await eventually(told)
            assert (await main.call("GET", f"{CONFIGMAPS}/owned"))[0] == 200
            async with aggregated(main, port=port):

                async def done() -> bool:
                    namespace, _ = await main.call("GET", "/api/v1/namespaces/shop")
                    owned, _ = await main.call("GET", f"{CONFIGMAPS}/owned")
                    return namespace == owned == 404

                await eventually(done, seconds=45)

    run(scenario(), seconds=90)
