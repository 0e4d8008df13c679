"""Who owns what where a webhook brings objects into the versions in which they own it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controlplane.apimachinery.identity import Obj
from tests.aio import run
from tests.custom_resources import DEFINITIONS_PATH
from tests.integration.apiextensions.test_conversion_webhook import (
    MERGE,
    V1,
    V2,
    alone,
    converting,
    foo,
    made,
    plane_with_webhook,
    read,
    two_versions,
)
from tests.integration.plane import Plane
from tests.webhook_server import running_webhook

APPLY = {"Content-Type": "application/apply-patch+yaml"}


async def apply(plane: Plane, path: str, obj: Obj, manager: str, query: str = "") -> tuple[int, Any]:
    name = obj["metadata"]["name"]
    answer: tuple[int, Any] = await plane.call(
        "PATCH", f"{path}/{name}?fieldManager={manager}{query}", obj, headers=APPLY
    )
    return answer


def owners(obj: Obj) -> dict[str, Any]:
    """What each owns of the spec, with the version in which it is said."""
    return {
        f"{entry['manager']} {entry['apiVersion'].rpartition('/')[2]}": sorted(entry["fieldsV1"]["f:spec"])
        for entry in obj["metadata"].get("managedFields", ())
    }


def test_a_field_is_owned_whatever_its_name_is_in_another_version(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, _webhook):
            assert (await apply(plane, V1, foo("a", "v1", n=1, kept="x"), "one"))[0] == 201
            status, shared = await apply(plane, V2, foo("a", "v2", count=1), "two")
            assert (status, owners(shared)) == (200, {"one v1": ["f:kept", "f:n"], "two v2": ["f:count"]})
            status, refused = await apply(plane, V2, foo("a", "v2", count=2), "two")
            assert (status, refused["message"]) == (409, 'Apply failed with 1 conflict: conflict with "one": .spec.n')
            forced = (await apply(plane, V2, foo("a", "v2", count=2), "two", "&force=true"))[1]
            assert owners(forced) == {"one v1": ["f:kept"], "two v2": ["f:count"]}
            assert (await read(plane, f"{V1}/a"))["spec"] == {"n": 2, "kept": "x"}
            status, left = await apply(plane, V1, foo("a", "v1", n=2), "two")
            assert (status, owners(left)) == (200, {"one v1": ["f:kept"], "two v1": ["f:n"]})

    run(main())


def test_an_update_takes_from_owners_in_another_version(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, _webhook):
            first = (await apply(plane, V1, foo("a", "v1", n=1, kept="x"), "one"))[1]
            status, patched = await plane.call(
                "PATCH", f"{V2}/a?fieldManager=two", {"spec": {"count": 2}}, headers=MERGE
            )
            assert (status, owners(patched)) == (200, {"one v1": ["f:kept"], "two v2": ["f:count"]})
            restored = {**foo("b", "v2", count=1, kept="y"), "metadata": {**patched["metadata"], "name": "b"}}
            del restored["metadata"]["resourceVersion"]
            restored["metadata"]["managedFields"] = first["metadata"]["managedFields"]
            created = await made(plane, f"{V2}?fieldManager=three", restored)
            assert owners(created) == {"three v2": [".", "f:count", "f:kept"]}

    run(main())


def test_without_the_webhook_an_apply_is_refused_and_an_update_forgets_the_owners(tmp_path: Path) -> None:
    """As upstream: managed fields that cannot be kept are no reason to refuse an update."""

    async def main() -> None:
        async with alone(tmp_path) as plane:
            async with running_webhook(tmp_path, converting) as webhook:
                config = {"url": webhook.url, "caBundle": webhook.ca_bundle}
                await made(plane, DEFINITIONS_PATH, two_versions(config))
                await apply(plane, V1, foo("a", "v1", n=1, kept="x"), "one")
                assert (await apply(plane, V2, foo("a", "v2", count=1), "two"))[0] == 200
            status, refused = await apply(plane, V1, foo("a", "v1", n=2), "one")
            assert (status, refused["message"].partition(" failed: ")[0]) == (
                500,
                "conversion webhook for example.com/v1, Kind=Foo",
            )
            status, patched = await plane.call("PATCH", f"{V1}/a", {"spec": {"n": 3}}, headers=MERGE)
            assert (status, patched["spec"], owners(patched)) == (200, {"n": 3, "kept": "x"}, {})

    run(main())
