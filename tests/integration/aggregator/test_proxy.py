"""What the other server gets of a request, and what the client gets of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
from aiohttp import web

from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.aggregator.planes import (
    APISERVICES,
    GROUP,
    PATH,
    PROXIES,
    SERVER_NAME,
    Main,
    aggregated,
    api_service,
    eventually,
    main_plane,
)
from tests.integration.aggregator.test_aggregated_server import WIDGETS, join, widget
from tests.webhook_server import Answer, Webhook, running_webhook


@asynccontextmanager
async def bare(main: Main, answer: Answer) -> AsyncIterator[Webhook]:
    """A server that is none of ours, registered."""
    async with running_webhook(main.directory, answer, names=(SERVER_NAME,), client_ca=PROXIES) as other:
        main.services.port = other.port
        assert (await main.call("POST", APISERVICES, api_service(other.ca.pem)))[0] == 201
        condition = {"type": "Available", "status": "True", "reason": "Passed", "message": "said by the test"}
        _, made = await main.call("GET", f"{APISERVICES}/v1.{GROUP}")
        made["status"] = {"conditions": [condition]}
        assert (await main.call("PUT", f"{APISERVICES}/v1.{GROUP}/status", made))[0] == 200
        yield other
        await main.call("DELETE", f"{APISERVICES}/v1.{GROUP}")  # it is not asked any more when it goes


def no_probes(config: Config) -> None:
    """Nothing comes to the other server but what the test sends, and anybody may send it."""
    config.authorization_modes = ("AlwaysAllow",)
    config.aggregation = replace(config.aggregation, probes=False)


def test_the_caller_is_named_and_nothing_else_is_believed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path, no_probes) as main, bare(main, web.json_response) as other:
            forged = {
                "X-Remote-User": "root",
                "X-Remote-Group": "system:masters",
                "X-Remote-Extra-Scope": "all",
                "Impersonate-User": "jane",
                "Impersonate-Extra-Acme.com%2fteam": "red",
                "X-Own": "kept",
                "Authorization": "",
            }
            status, body = await main.call("POST", f"{PATH}/things?b=2&a=1", {"n": 1}, headers=forged)
            assert (status, body) == (200, {"n": 1})
            (got,) = other.heads
            assert (got["X-Remote-User"], got["X-Own"]) == ("jane", "kept")
            assert got["X-Remote-Group"] == "system:authenticated"
            assert got["X-Remote-Extra-acme.com%2Fteam"] == "red"
            assert got["Host"] == f"127.0.0.1:{other.port}"
            assert got["Audit-Id"]
            assert got["X-Forwarded-For"] == "127.0.0.1"
            assert got["X-Forwarded-Uri"] == f"{PATH}/things"
            assert not {"Authorization", "X-Remote-Extra-Scope", "Impersonate-User"} & set(got)
            assert "b=2&a=1" in other.queries

    run(scenario())


def test_a_redirect_is_not_passed_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        def redirect(_body: object) -> web.Response:
            return web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"})

        async with main_plane(tmp_path, no_probes) as main, bare(main, redirect):
            answer = await main.call("POST", f"{PATH}/things", {})
            assert answer == (502, "the backend attempted to redirect this request, which is not permitted")

    run(scenario())


class Half(web.Response):
    """An answer that is broken off."""

    async def prepare(self, request: web.BaseRequest) -> None:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        request.transport.close()
        raise ConnectionResetError


def test_half_an_answer_is_503(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path, no_probes) as main, bare(main, lambda _body: Half()):
            assert await main.call("POST", f"{PATH}/things", {}) == (503, "error trying to reach service: EOF\n")

    run(scenario())


def test_what_is_not_available_is_503_and_what_cannot_be_trusted_is_not_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, bare(main, web.json_response) as other:
            strangers = {"spec": {"caBundle": api_service(PROXIES.pem)["spec"]["caBundle"]}}
            patch = {"Content-Type": "application/merge-patch+json"}
            await main.call("PATCH", f"{APISERVICES}/v1.{GROUP}", strangers, headers=patch)

            async def refused() -> bool:
                return "certificate signed by unknown authority" in (await main.available() or ("", "", ""))[2]

            await eventually(refused)
            before = len(other.asked)
            assert await main.call("POST", f"{PATH}/things", {}) == (503, "service unavailable\n")
            assert len(other.asked) == before

    run(scenario())


def test_a_watch_over_a_websocket_goes_through(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            await join(main)
            plane = main.plane
            url = f"{plane.running.url}{WIDGETS}?watch=true"
            async with plane.http.ws_connect(url, ssl=plane.admin_tls, origin="https://here.example") as socket:
                await main.call("POST", WIDGETS, widget("one"))
                message = await socket.receive(5)
                assert message.type is aiohttp.WSMsgType.TEXT
                assert message.json()["object"]["metadata"]["name"] == "one"
            refused = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
            async with plane.http.get(
                f"{plane.running.url}{WIDGETS}/none", ssl=plane.admin_tls, headers=refused
            ) as answer:
                assert answer.status == 404
                assert (await answer.json())["reason"] == "NotFound"

    run(scenario())


def test_its_openapi_is_published_with_ours(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            name = ".".join(reversed(PATH.split("/")[2:]))
            counted = f'aggregator_openapi_v2_regeneration_count{{apiservice="{name}",reason="add"}}'

            async def additions() -> int:
                """Metrics are of the process: what tests before this one added counts too."""
                found = re.search(
                    rf"^{re.escape(counted)} (\d+)$", (await main.call("GET", "/metrics"))[1], re.MULTILINE
                )
                return int(found[1]) if found is not None else 0

            before = await additions()
            await join(main)
            key = PATH.removeprefix("/")

            async def published() -> bool:
                root = json.loads((await main.call("GET", "/openapi/v3"))[1])["paths"]
                return key in root and f"{PATH}/widgets" in (await main.call("GET", "/openapi/v2"))[1]["paths"]

            await eventually(published)
            root = json.loads((await main.call("GET", "/openapi/v3"))[1])
            status, document = await main.call("GET", root["paths"][key]["serverRelativeURL"])
            assert status == 200
            assert f"{PATH}/widgets" in document["paths"]
            assert "/api/v1/configmaps" not in document["paths"]
            _, swagger = await main.call("GET", "/openapi/v2")
            assert "org.example.factory.v1.Widget" in swagger["definitions"]
            assert "/api/v1/configmaps" in swagger["paths"]
            metrics = (await main.call("GET", "/metrics"))[1]
            assert await additions() == before + 1
            assert 'aggregator_openapi_v2_regeneration_duration{reason="add"}' in metrics
            assert "aggregator_discovery_aggregation_count_total" in metrics
            accept = {"Accept": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}
            plane = main.plane
            async with plane.http.get(f"{plane.running.url}/openapi/v2", ssl=plane.admin_tls, headers=accept) as answer:
                assert answer.status == 200
                assert b"org.example.factory.v1.Widget" in await answer.read()

    run(scenario())


def test_who_may_do_what_is_the_main_servers_to_say(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with main_plane(tmp_path) as main, aggregated(main):
            await join(main)
            jane = {"Impersonate-User": "jane"}
            status, body = await main.call("GET", f"{PATH}/widgets", headers=jane)
            assert (status, body["reason"]) == (403, "Forbidden")
            rbac = "/apis/rbac.authorization.k8s.io/v1"
            rule = {"verbs": ["list"], "apiGroups": [GROUP], "resources": ["widgets"]}
            await main.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": "looks"}, "rules": [rule]})
            binding = {
                "metadata": {"name": "jim-looks"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jim"}],
            }
            assert (await main.call("POST", f"{rbac}/clusterrolebindings", binding))[0] == 201
            jim = {"Impersonate-User": "jim"}
            assert (await main.call("GET", f"{PATH}/widgets", headers=jim))[0] == 200
            status, _ = await main.call("POST", WIDGETS, widget("one"), headers=jim)
            assert status == 403

    run(scenario())
