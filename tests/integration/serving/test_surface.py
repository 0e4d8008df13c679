"""The server over TLS, in process: health, version, access, errors, methods, headers."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.server.routes import Route
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.integration.plane import config_in, running_plane

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_health_in_all_its_forms(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            for path in ("/healthz", "/livez", "/readyz"):
                assert await plane.call("GET", path, anonymous=True) == (200, "ok")
            _, text = await plane.call("GET", "/readyz?verbose&exclude=ping&exclude=etcd&exclude=none")
            lines = text.splitlines()
            assert "[+]ping excluded: ok" in lines
            assert "[+]etcd excluded: ok" in lines
            assert "[+]etcd-readiness excluded with etcd: ok" in lines
            assert "[+]poststarthook/start-system-namespaces-controller ok" in lines
            assert lines[-2:] == [
                'warn: some health checks cannot be excluded: no matches for "none"',
                "readyz check passed",
            ]
            assert await plane.call("GET", "/livez/etcd") == (200, "ok")
            assert await plane.call("GET", "/livez/none") == (404, "404 page not found\n")

    run(scenario())


def test_version_index_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            status, version = await plane.call("GET", "/version", anonymous=True)
            assert (status, version["major"], version["minor"]) == (200, "1", "36")
            assert version["gitVersion"].startswith("v1.36.")
            status, refused = await plane.call("POST", "/version", {})
            assert (status, refused["reason"], refused["details"]) == (405, "MethodNotAllowed", {})
            _, index = await plane.call("GET", "/")
            assert index["paths"] == sorted(index["paths"])
            assert {"/api/v1", "/healthz", "/livez/ping", "/metrics", "/readyz/shutdown", "/version"} <= {
                *index["paths"]
            }
            assert await plane.call("GET", "/nothing") == (404, "404 page not found\n")
            status, page = await plane.call("GET", "/metrics")
            assert status == 200
            assert 'apiserver_request_total{verb="GET"' in page
            assert "kubernetes_build_info{" in page

    run(scenario())


def test_who_may_do_what(tmp_path: Path) -> None:
    async def scenario() -> None:
        tokens = tmp_path / "tokens.csv"
        tokens.write_text('alice-token,alice,1,"dev"\n')
        config = config_in(tmp_path)
        config.token_auth_file = str(tokens)
        async with running_plane(tmp_path, config) as plane:
            status, answer = await plane.call("GET", CONFIGMAPS, anonymous=True)
            assert status == 403
            assert answer["message"] == (
                'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" '
                'in the namespace "default"'
            )
            for token, expected in (("alice-token", 403), ("nobody", 401)):
                headers = {"Authorization": f"Bearer {token}"}
                status, answer = await plane.call("GET", "/metrics", anonymous=True, headers=headers)
                assert status == expected
            assert answer == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Unauthorized",
                "reason": "Unauthorized",
                "code": 401,
            }
            assert (await plane.call("GET", CONFIGMAPS))[0] == 200

    run(scenario())


def test_loopback_is_authorized_like_anybody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            alice = plane.running.loopback(UserInfo(name="alice"))
            answer = await alice.request("GET", CONFIGMAPS)
            assert answer.status == 403
            assert b'User \\"alice\\" cannot list' in answer.content()

    run(scenario())


def test_every_answer_has_its_headers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            for path, audit in ((CONFIGMAPS, "mine"), ("/nothing", ""), (CONFIGMAPS + "/none", "x")):
                headers = {"Audit-ID": audit} if audit else {}
                async with plane.http.get(plane.running.url + path, ssl=plane.admin_tls, headers=headers) as response:
                    assert response.headers["Cache-Control"] == "no-cache, private"
                    assert response.headers["Audit-Id"] == audit or (not audit and response.headers["Audit-Id"])

    run(scenario())


def test_head_and_keep_alive(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            url = plane.running.url + "/readyz?verbose"
            async with plane.http.head(url, ssl=plane.admin_tls) as head:
                length = int(head.headers["Content-Length"])
                assert await head.read() == b""
            async with plane.http.get(url, ssl=plane.admin_tls) as get:
                assert len(await get.read()) == length

    run(scenario())


def test_body_limit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            url = plane.running.url + CONFIGMAPS
            answers = []
            for size in (3 * 1024 * 1024, 3 * 1024 * 1024 + 1):
                headers = {"Content-Type": "application/json"}
                async with plane.http.post(
                    url, data=BytesIO(b"x" * size), ssl=plane.admin_tls, headers=headers
                ) as response:
                    answers.append((response.status, json.loads(await response.read())["message"]))
            assert answers[0][0] == 400, "not JSON, but not too large"
            assert answers[1] == (413, "Request entity too large: limit is 3145728")
            assert (await plane.call("GET", CONFIGMAPS))[1]["items"] == []

    run(scenario())


def test_panic_is_contained(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_: Request) -> Response:
        raise ZeroDivisionError

    async def scenario() -> None:
        config = config_in(tmp_path)
        config.routes.append(Route("/broken", broken))
        async with running_plane(tmp_path, config) as plane:
            status, text = await plane.call("GET", "/broken")
            assert (status, text) == (
                500,
                "This request caused apiserver to panic. Look in the logs for details.\n",
            )
            assert (await plane.call("GET", "/healthz"))[0] == 200

    run(scenario())
    assert "request failed" in caplog.text


def test_deadline_of_a_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        async def slow(_: Request) -> Response:
            await asyncio.Event().wait()
            raise AssertionError

        config = config_in(tmp_path)
        config.routes.append(Route("/slow", slow))
        config.request_seconds = 0.2
        async with running_plane(tmp_path, config) as plane:
            for path in ("/slow", "/slow?timeout=50ms"):
                status, answer = await plane.call("GET", path)
                assert (status, answer["reason"]) == (504, "Timeout")
                assert answer["message"] == "Timeout: request did not complete within the allotted timeout"
            status, answer = await plane.call("GET", "/slow?timeout=x")
            assert status == 400

    run(scenario())


def test_large_list_in_slices_and_compressed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            for number in range(300):
                status, _ = await plane.call("POST", CONFIGMAPS, configmap(f"m-{number:04}", payload="x" * 4000))
                assert status == 201
            url = plane.running.url + CONFIGMAPS
            for encoding in ("identity", "gzip"):
                async with plane.http.get(url, ssl=plane.admin_tls, headers={"Accept-Encoding": encoding}) as response:
                    assert response.headers.get("Content-Encoding", "identity") == encoding
                    items = json.loads(await response.read())["items"]
                    assert [item["metadata"]["name"] for item in items] == [f"m-{n:04}" for n in range(300)]

    run(scenario())


def test_two_planes_in_one_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        first_dir, second_dir = tmp_path / "a", tmp_path / "b"
        async with running_plane(first_dir) as first, running_plane(second_dir) as second:
            assert first.running.port != second.running.port
            assert (await first.call("POST", CONFIGMAPS, configmap("only-here")))[0] == 201
            assert (await second.call("GET", CONFIGMAPS + "/only-here"))[0] == 404

    run(scenario())


def test_resources_that_are_off_are_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = config_in(tmp_path)
        config.resources = [resource for resource in config.resources if resource.plural != "leases"]
        async with running_plane(tmp_path, config) as plane:
            assert (await plane.call("GET", "/apis/coordination.k8s.io/v1"))[0] == 404
            groups = (await plane.call("GET", "/apis"))[1]["groups"]
            assert "coordination.k8s.io" not in {group["name"] for group in groups}
            path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
            assert await plane.call("GET", path) == (404, "404 page not found\n")

    run(scenario())
