"""API services that the server keeps by itself, while it runs and when it starts."""

from __future__ import annotations

from pathlib import Path

from controlplane.apimachinery.identity import Obj
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.aggregator.planes import APISERVICES, Main, eventually, main_plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CUSTOM, BUILT_IN = f"{APISERVICES}/v1.example.org", f"{APISERVICES}/v1.authorization.k8s.io"
DEFINITION: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
LABEL = "kube-aggregator.kubernetes.io/automanaged"


def test_those_of_custom_resources_are_kept_and_those_built_in_are_made_at_the_start(tmp_path: Path) -> None:
    def on_file(config: Config) -> None:
        config.store = f"sqlite:{tmp_path}/store.db"

    async def there(main: Main, path: str) -> Obj:
        async def found() -> Obj | None:
            status, obj = await main.call("GET", path)
            return obj if status == 200 else None

        answer: Obj = await eventually(found)
        return answer

    async def scenario() -> None:
        async with main_plane(tmp_path, on_file) as main:
            assert (await main.call("POST", CRDS, DEFINITION))[0] == 201
            made = await there(main, CUSTOM)
            assert made["metadata"]["labels"] == {LABEL: "true"}
            assert (await main.call("DELETE", CUSTOM))[0] == 200
            again = await there(main, CUSTOM)
            assert again["metadata"]["uid"] != made["metadata"]["uid"]
            await changed(main, CUSTOM)

            async def put_right() -> bool:
                return bool((await main.call("GET", CUSTOM))[1]["spec"] == made["spec"])

            await eventually(put_right)
            built_in = await there(main, BUILT_IN)
            assert built_in["metadata"]["labels"] == {LABEL: "onstart"}
            await changed(main, BUILT_IN)
            assert (await main.call("DELETE", f"{CRDS}/things.example.org"))[0] == 200

            async def gone() -> bool:
                return (await main.call("GET", CUSTOM))[0] == 404

            await eventually(gone)
            assert (await main.call("GET", BUILT_IN))[1]["spec"]["versionPriority"] == 99, "anybody's, once made"
        async with main_plane(tmp_path, on_file) as main:
            assert (await main.call("GET", BUILT_IN))[1]["spec"] == built_in["spec"]
            assert (await main.call("DELETE", BUILT_IN))[0] == 200
        async with main_plane(tmp_path, on_file) as main:
            assert (await there(main, BUILT_IN))["spec"] == built_in["spec"]

    run(scenario())


async def changed(main: Main, path: str) -> None:
    """Somebody has changed an API service."""
    merge = {"Content-Type": "application/merge-patch+json"}
    status, answer = await main.call("PATCH", path, {"spec": {"versionPriority": 99}}, headers=merge)
    assert status == 200, answer
