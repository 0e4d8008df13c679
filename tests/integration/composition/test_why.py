"""``why``: what blocks a deletion, and what the garbage collector would do; and the collector's graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.user import UserInfo
from controlplane.client.naming import NoSuchResource
from controlplane.client.resources import Propagation
from controlplane.client.results import raise_for_status
from controlplane.controllers.blocking.report import why
from controlplane.generic.config import Config
from controlplane.generic.why_command import why_command
from controlplane.testing.planes import plane_in_thread, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, until

GRAPH = "/debug/controllers/garbage-collector/graph"


def without_controllers(config: Config) -> None:
    config.run_controllers = False


def test_a_namespace_and_what_is_in_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            o = Objects(plane, "shop")
            await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            await o.make("held", finalizers=("example.org/keep",))
            await o.make("free")
            report = await why(plane.client(), "namespace", Key("", "shop"))
            assert report.state == "namespaces shop is not being deleted"
            await o.namespaces.delete(Key("", "shop"))

            async def told() -> bool:
                blocked = (await why(plane.client(), "namespaces", Key("", "shop"))).blocked_by
                return any(line.startswith("condition NamespaceFinalizersRemaining: ") for line in blocked)

            await until(told)
            report = await why(plane.client(), "namespaces", Key("", "shop"))
            assert report.state.startswith("namespaces shop is being deleted since ")
            assert "content: 1 configmaps" in report.blocked_by
            assert any(
                line.startswith("content with finalizers: configmaps shop/held, being deleted since ")
                and line.endswith(", held by example.org/keep")
                for line in report.blocked_by
            )
            held = await why(plane.client(), "configmap", Key("shop", "held"))
            assert held.blocked_by == ("finalizer example.org/keep: whoever put it there has to take it off",)

    run(main())


def test_owners_and_the_collectors_dry_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path, configure=without_controllers) as plane:
            o = Objects(plane)
            owner = await o.make("owner")
            child = await o.make("child", owner, blocks=True)
            await o.make("grandchild", child)
            await o.make("shared", owner, await o.make("other"))
            report = await why(plane.client(), "configmaps", Key("default", "owner"))
            assert report.collector == (
                "leaves it: it has no owners",
                "deletes 2 once it is gone:",
                "goes too: configmaps default/child",
                "goes too: configmaps default/grandchild",
            )
            assert (await why(plane.client(), "configmaps", Key("default", "child"))).owners == (
                "ConfigMap.v1 owner: exists",
            )
            await o.delete("owner", Propagation.FOREGROUND)
            report = await why(plane.client(), "configmaps", Key("default", "owner"))
            assert report.blocked_by == (
                "finalizer foregroundDeletion: its blocking dependents go first",
                "dependent: configmaps default/child",
            )
            child_report = await why(plane.client(), "configmaps", Key("default", "child"))
            assert child_report.owners == ("ConfigMap.v1 owner: waits for its dependents to be deleted",)
            assert child_report.collector[0] == "deletes it: none of its owners exists"
            await o.make("stray", {**owner, "metadata": {"name": "never", "uid": "0-0"}})
            stray = await why(plane.client(), "configmaps", Key("default", "stray"))
            assert stray.owners == ("ConfigMap.v1 never: absent",)
            unknown = {"apiVersion": "gone.example.org/v1", "kind": "Gone", "metadata": {"name": "x", "uid": "1-1"}}
            await o.make("unknown", unknown)
            report = await why(plane.client(), "configmaps", Key("default", "unknown"))
            assert report.owners == ("Gone.gone.example.org/v1 x: not to be told: its kind cannot be seen",)
            assert report.collector[0] == "leaves it: of an owner it cannot be told whether it exists"
            with pytest.raises(NoSuchResource, match="'nothings' names no single resource"):
                await why(plane.client(), "nothings", Key("default", "x"))

    run(main())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with plane_in_thread(tmp_path) as plane:
        where = [f"--kubeconfig={plane.kubeconfig}"]
        assert why_command(["namespace/default", *where], program="why") == 0
        assert "namespaces default is not being deleted\nblocked by:\n" in capsys.readouterr().out
        assert why_command(["namespace/default", "-o", "json", *where], program="why") == 0
        assert json.loads(capsys.readouterr().out)["state"] == "namespaces default is not being deleted"
        assert why_command(["configmaps/none", *where], program="why") == 1
        assert 'configmaps "none" not found' in capsys.readouterr().err
    assert why_command(["configmaps", "--kubeconfig=x"], program="why") == 2
    assert "must be RESOURCE/NAME" in capsys.readouterr().err
    assert why_command(["configmaps/x"], program="why") == 2


def test_the_graph(tmp_path: Path) -> None:
    """What the collector knows, as DOT, to those who may see it."""

    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            o = Objects(plane)
            owner = await o.make("owner")
            child = await o.make("child", owner)
            apart = await o.make("apart", await o.make("apart-owner"))

            async def text(*uids: str) -> str:
                query = [("uid", uid) for uid in uids]
                response = await plane.client().request("GET", GRAPH, query=query)
                raise_for_status(response, "GET")
                return response.content().decode()

            async def known() -> bool:
                shown = await text()
                return meta.uid(child) in shown and meta.uid(apart) in shown

            await until(known)
            whole, part = await text(), await text(meta.uid(child))
            assert 'name="apart"' in whole
            assert 'name="apart"' not in part
            label = rf'    label="\"uid={meta.uid(child)}\nnamespace=default\nConfigMap.v1/child\n\""'
            assert label in part.splitlines()
            assert part.startswith("strict digraph full {\n  // Node definitions.\n  0 [\n")
            edge = "  0 -> 1;" if meta.uid(child) < meta.uid(owner) else "  1 -> 0;"
            assert part.splitlines()[-3:] == ["  // Edge definitions.", edge, "}"]
            assert (await plane.client(UserInfo(name="eve")).request("GET", GRAPH)).status == 403

    run(main())


def test_no_graph_where_no_collector_runs(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path, configure=without_controllers) as plane:
            assert (await plane.client().request("GET", GRAPH)).status == 404

    run(main())
