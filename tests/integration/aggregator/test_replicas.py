"""Several servers on one etcd that speak for the same other server: all of them do, and they agree."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from controlplane.generic.config import Config
from controlplane.testing.etcd import EtcdProcess
from tests.aio import run
from tests.integration.aggregator.planes import APISERVICES, GROUP, PATH, Main, aggregated, eventually, main_plane
from tests.integration.aggregator.test_aggregated_server import WIDGETS, join, widget

REPLICAS = 3


def test_all_replicas_speak_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        etcd = EtcdProcess(tmp_path / "etcd")
        await etcd.start()

        def replica(config: Config) -> None:
            config.store, config.cert_dir = f"etcd:{etcd.endpoint}", tmp_path / "certs"

        try:
            async with AsyncExitStack() as stack:
                replicas: list[Main] = []
                for number in range(REPLICAS):
                    directory = tmp_path if number == 0 else tmp_path / str(number)
                    directory.mkdir(exist_ok=True)
                    replicas.append(await stack.enter_async_context(main_plane(directory, replica)))
                first, second, third = replicas
                async with aggregated(first) as other:
                    for one in replicas:
                        one.services.port = other.port
                    await join(first)

                    async def current() -> bool:
                        return {str(await one.freshness()) for one in replicas} == {"('Current', ['widgets'])"}

                    await eventually(current)
                    status, made = await second.call("POST", WIDGETS, widget("one"))
                    assert status == 201, made
                    assert (await third.call("GET", f"{WIDGETS}/one"))[1] == made
                    await nothing_changes(third)

                async def down_everywhere() -> bool:
                    for one in replicas:
                        await one.call("GET", f"{PATH}/widgets")
                        if await one.freshness() != ("Stale", ["widgets"]):
                            return False
                        if (await one.available() or ("",))[0] != "False":
                            return False
                    return True

                await eventually(down_everywhere, seconds=30)
                assert (await third.call("DELETE", f"{APISERVICES}/v1.{GROUP}"))[0] == 200

                async def gone_everywhere() -> bool:
                    return all(
                        [await one.freshness() is None and (await one.call("GET", PATH))[0] == 404 for one in replicas]
                    )

                await eventually(gone_everywhere)
        finally:
            await etcd.close()

    run(scenario(), seconds=90)


async def nothing_changes(main: Main) -> None:
    """No replica writes an API service while all find the same."""
    _, listed = await main.call("GET", APISERVICES)
    version = listed["metadata"]["resourceVersion"]
    url = f"{main.plane.running.url}{APISERVICES}?watch=true&timeoutSeconds=1&resourceVersion={version}"
    async with main.plane.http.get(url, ssl=main.plane.admin_tls) as stream:
        assert await stream.read() == b""
