"""What is stored is told by a server and by a store that is not served; a build refuses what it does not know."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apimachinery.user import UserInfo
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.generic.server import StartError
from controlplane.generic.storage_report_command import storage_report_command
from controlplane.storagemigration.proof import REPORT_PATH
from controlplane.testing.planes import Plane, plane_in_thread, running_plane
from tests.aio import run
from tests.integration.storagemigration.widgets import Migrations

SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GADGETS = GVR("factory.example.org", "v1", "gadgets")


def gadgets(*versions: str) -> Any:
    """A kind of one's own, stored in the first version."""
    several = [Version(name=name, schema=SCHEMA) for name in versions]
    return lambda config: config.declared.append(declare("Gadget", group=GADGETS.group, versions=several))


async def report_of(plane: Plane, resource: str = "") -> dict[str, Any]:
    """By resource."""
    query = [("group", "example.org"), ("resource", resource)] if resource else []
    response = await plane.client().request("GET", REPORT_PATH, query=query)
    assert response.status == 200
    assert isinstance(response.body, bytes)
    return {one["resource"]: one for one in json.loads(response.body)["resources"]}


def test_a_server_counts_what_it_stores() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(3)
            await m.store_as_v1()
            await m.widgets.patch(Key("default", "w00000"), {"spec": {"a": 1}})
            widgets = {
                "group": "example.org",
                "resource": "widgets",
                "served": True,
                "storageVersion": "v1",
                "objects": 3,
                "forms": [
                    {"version": "v1", "key": "", "objects": 1, "current": True},
                    {"version": "v1beta1", "key": "", "objects": 2, "current": False},
                ],
            }
            assert await report_of(plane, "widgets") == {"widgets": widgets}
            everything = await report_of(plane)
            assert everything["widgets"] == widgets
            assert everything["namespaces"]["forms"] == [{"version": "v1", "key": "", "objects": 3, "current": True}]
            assert everything["customresourcedefinitions"]["forms"][0]["current"], "v1beta1 is how they are stored"
            metrics = await plane.client().request("GET", "/metrics")
            assert not isinstance(metrics.body, bytes)
            counted = 'controlplane_stored_objects{group="example.org",resource="widgets",version="v1beta1",key=""} 2'
            assert counted in b"".join(metrics.body).decode()

    run(main())


def test_mutating_policies_are_stored_for_the_release_before() -> None:
    """In v1beta1, which is not served; one that was stored in v1 is read, and rewritten when it is next changed."""
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    rule = {"apiGroups": ["x"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["y"]}
    policy = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [change], "reinvocationPolicy": "Never"}

    async def main() -> None:
        async with running_plane() as plane:
            kv = plane.control_plane.kv
            for kind, plural, spec in (
                ("MutatingAdmissionPolicy", "mutatingadmissionpolicies", policy),
                ("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", {"policyName": "p"}),
            ):
                gvr, key = GVR("admissionregistration.k8s.io", "v1", plural), f"/registry/{plural}/p".encode()
                client = ResourceClient(plane.client(), gvr, namespaced=False)
                await client.create({"metadata": {"name": "p"}, "spec": spec})
                start = f'{{"kind":"{kind}","apiVersion":"admissionregistration.k8s.io/'.encode()
                stored = (await kv.range(key, key + b"\0")).items[0]
                assert stored.value.startswith(start + b'v1beta1"')
                older = stored.value.replace(start + b"v1beta1", start + b"v1")
                assert await kv.put(key, older, expect=stored.mod_revision)
                read = await client.get(Key("", "p"))
                assert read["apiVersion"] == "admissionregistration.k8s.io/v1"
                assert {entry["apiVersion"] for entry in read["metadata"]["managedFields"]} == {read["apiVersion"]}
                await client.patch(Key("", "p"), {"metadata": {"labels": {"a": "b"}}})
                assert (await kv.range(key, key + b"\0")).items[0].value.startswith(start + b'v1beta1"')
                unserved = await plane.client().request("GET", f"/apis/{gvr.group}/v1beta1/{plural}/p")
                assert unserved.status == 404

    run(main())


def test_the_report_is_for_those_who_may_read_it() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            nobody = plane.client(UserInfo(name="somebody", groups=("system:authenticated",)))
            assert (await nobody.request("GET", REPORT_PATH)).status == 403

    run(main())


def test_a_store_that_is_not_served_is_counted_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def fill(plane: Plane) -> None:
        m = Migrations(plane)
        await m.define()
        await m.make_widgets(3)

    store = f"sqlite:{tmp_path / 'store.db'}"
    with plane_in_thread(tmp_path, store=store) as plane:
        plane.run(fill)
        assert storage_report_command(["--kubeconfig", str(plane.kubeconfig)], program="storage-report") == 0
        served = capsys.readouterr().out
        assert "widgets.example.org" in served
        assert storage_report_command([f"--store={store}"], program="storage-report") == 1
        assert "is held by process" in capsys.readouterr().err
    assert storage_report_command([f"--store={store}", "--output=json"], program="storage-report") == 0
    report = {one["resource"]: one for one in json.loads(capsys.readouterr().out)["resources"]}
    assert report["widgets"]["forms"] == [{"version": "v1beta1", "key": "", "objects": 3, "current": None}]
    assert report["namespaces"]["forms"] == [{"version": "v1", "key": "", "objects": 3, "current": True}]


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nothing.db"
    assert storage_report_command([f"--store=sqlite:{path}"], program="storage-report") == 1
    assert capsys.readouterr().err == f"storage-report: store {path} does not exist\n"
    assert not path.exists()


def test_one_of_server_and_store_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert storage_report_command([], program="storage-report") == 2
    assert capsys.readouterr().err == "storage-report: --kubeconfig, --store: one must be given\n"


def test_a_build_that_dropped_a_version_refuses_a_store_that_has_it(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"

    async def main() -> None:
        async with running_plane(tmp_path, store=store, configure=gadgets("v1beta1", "v1")) as plane:
            client = ResourceClient(plane.client(), GADGETS, namespaced=True)
            for name in ("a", "b"):
                metadata = {"name": name, "namespace": "default"}
                await client.create({"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": metadata})
        expected = (
            r"^2 objects of gadgets\.factory\.example\.org are stored as factory\.example\.org/v1beta1, which this "
            r"build does not know: start a build that does, migrate there \(.*docs/upgrades\.md\), then start this one "
            r"again$"
        )
        with pytest.raises(StartError, match=expected):
            async with running_plane(tmp_path, store=store, configure=gadgets("v1")):
                pass
        async with running_plane(tmp_path, store=store, configure=gadgets("v1", "v1beta1")) as plane:
            m = Migrations(plane)
            await m.migrate("to-v1", GADGETS)
            await m.ended("to-v1")
        async with running_plane(tmp_path, store=store, configure=gadgets("v1")) as plane:
            client = ResourceClient(plane.client(), GADGETS, namespaced=True)
            assert len((await client.list()).items) == 2

    run(main())


def test_a_definition_without_a_stored_version_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Versions of custom resources are data: whoever has broken one must be able to start, and to mend it."""
    store = f"sqlite:{tmp_path / 'store.db'}"

    async def main() -> None:
        async with running_plane(tmp_path, store=store) as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(1)
            kv = plane.control_plane.kv
            (stored,) = (await kv.range(b"/registry/example.org/widgets/default/w00000", b"")).items
            await kv.put(stored.key, stored.value.replace(b"/v1beta1", b"/v0"), expect=stored.mod_revision)
        with caplog.at_level(logging.WARNING):
            async with running_plane(tmp_path, store=store):
                pass
        said = [record for record in caplog.records if "their definition does not have" in record.getMessage()]
        assert len(said) == 1
        assert "1 objects of widgets.example.org are stored as example.org/v0" in str(vars(said[0]))

    run(main())


def without_the_kind(config: Config) -> None:
    config.resources = [kind for kind in config.resources if kind.plural != "configmaps"]


def test_what_is_off_is_not_asked_for(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"

    async def main() -> None:
        async with running_plane(tmp_path, store=store) as plane:
            await Migrations(plane).make("a")
        async with running_plane(tmp_path, store=store, configure=without_the_kind) as plane:
            (form,) = (await report_of(plane))["configmaps"]["forms"]
            assert form["current"] is None

    run(main())
