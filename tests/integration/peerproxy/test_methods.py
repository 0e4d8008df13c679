"""Methods that no server takes are refused alike, wherever the resource is served."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from controlplane.generic.config import Config
from controlplane.testing.fleet import fleet
from tests.aio import run

PATH = "/api/v1/namespaces/default/resourcequotas/q"


def whole(_: Config) -> None:
    """All that is built in."""


def without_quotas(config: Config) -> None:
    config.resources = [resource for resource in config.resources if resource.plural != "resourcequotas"]


def admin_token(directory: Path) -> str:
    return next(directory.rglob("admin.token")).read_text().strip()


def test_head_of_a_peers_native_kind(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": whole, "b": without_quotas}, directory=tmp_path) as servers:
            headers = {"Authorization": f"Bearer {admin_token(tmp_path)}"}
            async with aiohttp.ClientSession(headers=headers) as http:
                for server in servers.servers.values():
                    async with http.head(server.url + PATH, ssl=False) as answer:
                        assert answer.status == 405
                    async with http.get(server.url + PATH, ssl=False) as answer:
                        assert (answer.status, (await answer.json())["reason"]) == (404, "NotFound")

    run(main())
