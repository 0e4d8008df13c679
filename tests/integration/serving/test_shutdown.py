"""Shutting down: in which order, what is let finish, what is refused, how watches end."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import aiohttp
import pytest

from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext
from controlplane.apiserver.server.lifecycle import Moment
from controlplane.apiserver.server.routes import Route
from controlplane.apiserver.server.server import ServerFailed
from controlplane.client.request import Request, Response
from controlplane.generic.server import StartError, open_plane
from tests.aio import run
from tests.integration.plane import config_in, running_plane

WATCH = "/api/v1/namespaces/default/configmaps?watch=true"


def reached(moment: Moment) -> bool:
    return moment.reached


def test_order_of_the_shutdown(tmp_path: Path) -> None:
    async def scenario() -> None:
        entered, go = asyncio.Event(), asyncio.Event()

        async def slow(_: Request) -> Response:
            entered.set()
            await go.wait()
            return Response(200, b'"finished"')

        config = config_in(tmp_path)
        config.routes.append(Route("/slow", slow))
        config.shutdown_delay_seconds = 0.3
        async with open_plane(config.complete()) as plane:
            moments = plane.server.lifecycle
            stop = asyncio.Event()
            seen: list[str] = []

            async def pre_shutdown() -> None:
                seen.append("hook")
                assert moments.shutdown_initiated.reached
                assert not moments.not_accepting_new_requests.reached

            plane.server.hooks.add_pre_shutdown("mine", pre_shutdown, by="test")
            prepared = plane.prepare()
            async with asyncio.TaskGroup() as group:
                serving = group.create_task(prepared.run(stop))
                await plane.server.ready()
                tls = ssl.create_default_context(cafile=str(config.cert_dir / "serving-ca.crt"))
                tls.load_cert_chain(config.cert_dir / "admin.crt", config.cert_dir / "admin.key")
                connector = aiohttp.TCPConnector(ssl=tls, limit=0)
                async with aiohttp.ClientSession(plane.url, connector=connector) as http:
                    slow_request = group.create_task(_body(http, "/slow"))
                    watch = await http.get(WATCH)
                    assert watch.status == 200
                    async with http.get("/healthz") as kept:  # a connection that is kept
                        assert kept.status == 200
                    await entered.wait()
                    stop.set()
                    await moments.shutdown_initiated.wait()
                    async with http.get("/readyz") as readyz:
                        assert readyz.status == 500
                        assert "[-]shutdown failed: reason withheld" in await readyz.text()
                    async with http.get("/livez") as livez:
                        assert livez.status == 200
                    async with http.get("/version") as version:
                        assert version.status == 200, "the delay is for load balancers: everything is served"
                    await moments.not_accepting_new_requests.wait()
                    async with http.get("/version") as refused:
                        status = json.loads(await refused.read())
                        assert (refused.status, status["message"]) == (503, "apiserver is shutting down")
                        assert refused.headers["Retry-After"] == "1"
                    assert await watch.content.read() == b"", "the watch ends as it should"
                    with pytest.raises(ConnectionRefusedError):
                        await asyncio.open_connection("127.0.0.1", plane.port)
                    assert not reached(moments.in_flight_drained)
                    go.set()
                    assert await slow_request == b'"finished"'
                await serving
            assert reached(moments.in_flight_drained)
            assert reached(moments.stopped_listening)
            assert seen == ["hook"]

    run(scenario())


async def _body(http: aiohttp.ClientSession, path: str) -> bytes:
    async with http.get(path) as response:
        return await response.read()


def test_request_that_does_not_end_is_cancelled(tmp_path: Path) -> None:
    async def scenario() -> None:
        cancelled = asyncio.Event()

        async def stuck(_: Request) -> Response:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise AssertionError

        config = config_in(tmp_path)
        config.routes.append(Route("/stuck", stuck))
        config.request_seconds = 0.3
        async with running_plane(tmp_path, config) as plane:
            request = asyncio.get_running_loop().create_task(plane.call("GET", "/stuck"))
            await asyncio.sleep(0.1)
        assert cancelled.is_set()
        await asyncio.wait([request])
        assert request.exception() is not None or request.result()[0] == 504

    run(scenario())


def test_hook_that_fails_ends_the_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        async def failing(_: HookContext) -> None:
            raise RuntimeError("no luck")

        async with open_plane(config_in(tmp_path).complete()) as plane:
            plane.server.hooks.add_post_start("mine", failing, by="test")
            with pytest.raises(ServerFailed, match="post-start hook 'mine' failed: no luck"):
                await plane.prepare().run(asyncio.Event())

    run(scenario())


def test_task_of_a_hook_that_fails_ends_the_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        async def fail() -> None:
            raise RuntimeError("later")

        async def hook(context: HookContext) -> None:
            context.start(fail(), name="mine")

        async with open_plane(config_in(tmp_path).complete()) as plane:
            plane.server.hooks.add_post_start("mine", hook, by="test")
            with pytest.raises(ServerFailed, match="later"):
                await plane.prepare().run(asyncio.Event())

    run(scenario())


def test_nothing_is_added_to_a_prepared_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        async def hook() -> None: ...

        async with open_plane(config_in(tmp_path).complete()) as plane:
            plane.server.hooks.add_pre_shutdown("mine", hook, by="test")
            with pytest.raises(ValueError, match="registered twice: by test and by other"):
                plane.server.hooks.add_pre_shutdown("mine", hook, by="other")
            plane.prepare()
            with pytest.raises(ValueError, match="too late"):
                plane.server.hooks.add_pre_shutdown("late", hook, by="test")
            with pytest.raises(ValueError, match="too late"):
                plane.server.add_ready_check(HealthCheck("late", lambda: None))
            with pytest.raises(ValueError, match="prepared already"):
                plane.prepare()

    run(scenario())


def test_port_in_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            config = config_in(tmp_path / "other")
            config.port = plane.running.port
            with pytest.raises(StartError, match=rf"127.0.0.1:{config.port} \(--bind-address, --secure-port\).*in use"):
                async with open_plane(config.complete()):
                    raise AssertionError
            assert not config.cert_dir.exists(), "nothing is made before the port is there"

    run(scenario())
