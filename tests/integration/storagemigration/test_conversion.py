"""Migration of custom resources whose versions a webhook converts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aiohttp import web

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.resources import PatchType
from controlplane.storage.kv.api import prefix_end
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.apiextensions.test_conversion_webhook import answer, converting, foo, two_versions
from tests.integration.controllers.objects import until
from tests.integration.storagemigration.widgets import Migrations, conditions_of
from tests.webhook_server import running_webhook

FOOS = GVR("example.com", "v1", "foos")
STORED = b"/registry/example.com/foos/"
COUNT = 8


async def stored(plane: Plane) -> list[tuple[str, Any]]:
    """Version and spec of each object in the raw store."""
    found = await plane.control_plane.kv.range(STORED, prefix_end(STORED))
    objects = [json.loads(item.value) for item in found.items]
    return [(obj["apiVersion"], obj["spec"]) for obj in objects]


def failing(review: Obj) -> web.Response:
    return web.json_response(answer(review, result={"status": "Failure", "message": "the converter is out of order"}))


def test_objects_are_converted_and_a_webhook_that_fails_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_webhook(tmp_path, converting) as webhook, running_plane(tmp_path) as plane:
            m = Migrations(plane)
            foos = m.of(FOOS)
            await m.definitions.create(two_versions({"url": webhook.url, "caBundle": webhook.ca_bundle}))
            for number in range(COUNT):
                obj = foo(f"f{number}", "v1", n=number)
                obj["metadata"]["namespace"] = "default"
                await foos.create(obj)
            await m.definitions.patch(
                Key("", "foos.example.com"),
                [
                    {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
                    {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
                ],
                PatchType.JSON,
            )
            webhook.answer = failing
            await m.migrate("to-v2", FOOS)

            async def says_why() -> bool:
                migration = await m.migration("to-v2") or {}
                conditions = (migration.get("status") or {}).get("conditions") or [{"message": ""}]
                return "trying again after: " in conditions[0]["message"]

            await until(says_why)
            (running,) = conditions_of(await m.migration("to-v2") or {})
            assert "the converter is out of order" in running[3]
            webhook.answer = converting
            assert conditions_of(await m.ended("to-v2"))[1][:2] == ("Succeeded", "True")
            assert await stored(plane) == [
                ("example.com/v2", {"count": number, "kept": "by v1"}) for number in range(COUNT)
            ]
            definition = await m.definitions.get(Key("", "foos.example.com"))
            assert definition["status"]["storedVersions"] == ["v2"]

    run(main())
