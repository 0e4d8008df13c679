"""Pages for those who run a server: ``/statusz``, ``/metrics/slis``, and counting from 0 again."""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.aio import run
from tests.integration.plane import running_plane

KIND = "g=config.k8s.io;as=Statusz"
REFUSED = "only the following media types are accepted: application/json, application/yaml, text/plain"


def test_statusz(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            for accept in ("", "*/*", "text/plain", "application/json,text/*;q=0.5"):
                status, page = await plane.call("GET", "/statusz", headers={"Accept": accept})
                assert status == 200
                assert page.startswith(
                    "\napiserver statusz\nWarning: This endpoint is not meant to be machine parseable"
                )
                assert re.search(r"^Binary version(:|: |=| ) 1\.36\.0$", page, re.MULTILINE)
                assert re.search(r"^Emulation version(:|: |=| ) 1\.36$", page, re.MULTILINE)
                paths = re.search(r"^Paths(?::|: |=| ) (.*)$", page, re.MULTILINE)
                assert paths is not None
                assert {"/healthz", "/livez", "/metrics", "/readyz", "/version"} <= {*paths[1].split()}
                assert "/api" not in paths[1]
            accept = f"text/html,application/json;v=v1beta1;{KIND},text/plain"
            status, page = await plane.call("GET", "/statusz", headers={"Accept": accept})
            assert (status, page["kind"], page["apiVersion"]) == (200, "Statusz", "config.k8s.io/v1beta1")
            assert page["metadata"] == {"name": "apiserver"}
            assert 0 <= page["uptimeSeconds"] < time.monotonic()
            assert page["goVersion"].startswith("python3.")
            assert page["paths"] == sorted(page["paths"])
            status, page = await plane.call(
                "GET", "/statusz", headers={"Accept": f"application/yaml;v=v1alpha1;{KIND}"}
            )
            assert status == 200
            assert "apiVersion: config.k8s.io/v1alpha1\n" in page
            for accept in (
                "application/json",
                "image/png",
                f"application/json;v=v2;{KIND}",
                f"text/plain;v=v1beta1;{KIND}",
            ):
                status, refused = await plane.call("GET", "/statusz", headers={"Accept": accept})
                assert (status, refused["reason"], refused["message"]) == (406, "NotAcceptable", REFUSED), accept
            assert (await plane.call("GET", "/statusz", anonymous=True))[0] == 403
            assert "/statusz" in (await plane.call("GET", "/"))[1]["paths"]

    run(scenario())


def test_service_level_indicators_have_a_page_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            assert (await plane.call("GET", "/readyz"))[0] == 200
            passed = 'kubernetes_healthcheck{name="ping",type="readyz"} 1\n'
            checked = 'kubernetes_healthchecks_total{name="ping",type="readyz",status="success"} '
            _, page = await plane.call("GET", "/metrics/slis")
            assert passed in page
            assert checked in page
            assert "kubernetes_healthcheck" not in (await plane.call("GET", "/metrics"))[1]
            assert await plane.call("DELETE", "/metrics/slis") == (200, "metrics reset\n")
            _, page = await plane.call("GET", "/metrics/slis")
            assert passed in page
            assert f"{checked}0\n" in page

    run(scenario())


def test_counting_from_0_again(tmp_path: Path) -> None:
    counted = re.compile(r'^apiserver_request_total\{verb="POST".*resource="configmaps".* (\d+)$', re.MULTILINE)
    timed = re.compile(r'^apiserver_request_duration_seconds_count\{verb="POST".*resource="configmaps".* (\d+)$', re.M)

    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            path = "/api/v1/namespaces/default/configmaps"
            assert (await plane.call("POST", path, {"metadata": {"generateName": "x-"}}))[0] == 201
            _, page = await plane.call("GET", "/metrics")
            assert int(counted.findall(page)[0]) > 0
            assert int(timed.findall(page)[0]) > 0
            assert (await plane.call("DELETE", "/metrics", anonymous=True))[0] == 403
            assert await plane.call("DELETE", "/metrics") == (200, "metrics reset\n")
            _, page = await plane.call("GET", "/metrics")
            assert (counted.findall(page)[0], timed.findall(page)[0]) == ("0", "0")
            assert "process_resident_memory_bytes 0\n" not in page

    run(scenario())
