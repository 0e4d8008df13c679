"""Storage versions: what servers report of themselves, what waits until they have, and who removes those that went."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.filters.chain import Filter, FilterConfig, insert_before
from controlplane.client.request import Handler, Request, Response
from controlplane.client.resources import ResourceClient
from controlplane.controllers.builtin import BUILTIN as CONTROLLERS
from controlplane.generic.config import Config
from controlplane.generic.server import open_plane
from controlplane.testing.planes import ADMIN, Plane, plane_config
from controlplane.testing.shared_store import SharedStore, shared_store
from tests.aio import run
from tests.integration.controllers.objects import CONFIGMAPS, Objects, until
from tests.integration.identity.servers import LEASES, on_store

WIDGETS = Resource(
    group="example.org",
    plural="widgets",
    singular="widget",
    kind="Widget",
    namespaced=True,
    versions=(
        ResourceVersion(name="v1", schema={"type": "object"}),
        ResourceVersion(name="v1beta1", schema={"type": "object"}),
    ),
    storage_version="v1beta1",
    key_prefix="example.org/widgets",
    native=False,
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certs")


@asynccontextmanager
async def reporting(
    store: SharedStore, certificates: Path, *, stores: str = "v1beta1", change: Callable[[Config], None] | None = None
) -> AsyncIterator[Plane]:
    """A server that serves storage versions, and widgets that it stores in ``stores``."""

    def configure(config: Config) -> None:
        config.resources = [*BUILTIN, replace(WIDGETS, storage_version=stores)]
        config.controllers = list(CONTROLLERS)
        if change is not None:
            change(config)

    async with on_store(store, certificates, configure) as plane:
        yield plane


async def storage_version(plane: Plane, name: str) -> Obj:
    return await Objects(plane).of(STORAGE_VERSIONS, namespaced=False).get(Key("", name))


def own_id(plane: Plane) -> str:
    return plane.control_plane.presence.server.id


def test_each_stored_resource_is_reported_once_when_the_server_is_ready(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, reporting(store, certificates) as plane:
            listed = await Objects(plane).of(STORAGE_VERSIONS, namespaced=False).list()
            names = {meta.name(item) for item in listed.items}
            assert {"core.configmaps", "core.events", "example.org.widgets"} <= names
            assert "apiextensions.k8s.io.customresourcedefinitions" in names
            assert "events.k8s.io.events" not in names, "its objects are those of the core group"
            assert "authentication.k8s.io.tokenreviews" not in names, "it stores nothing"
            widgets = await storage_version(plane, "example.org.widgets")
            assert widgets["spec"] == {}
            assert widgets["status"]["storageVersions"] == [
                {
                    "apiServerID": own_id(plane),
                    "encodingVersion": "example.org/v1beta1",
                    "decodableVersions": ["example.org/v1", "example.org/v1beta1"],
                    "servedVersions": ["example.org/v1", "example.org/v1beta1"],
                }
            ]
            events = (await storage_version(plane, "core.events"))["status"]["storageVersions"][0]
            assert events["encodingVersion"] == "v1"
            assert events["decodableVersions"] == ["v1", "events.k8s.io/v1"]
            assert events["servedVersions"] == ["v1"]
            hooks = [check.name for check in plane.control_plane.server.hooks.checks()]
            assert "poststarthook/built-in-resources-storage-version-updater" in hooks

    run(main())


@pytest.mark.parametrize("modes", [("RBAC",), ()], ids=["with roles", "without"])
def test_the_server_itself_does_not_write_before_it_has_reported(
    modes: tuple[str, ...], certificates: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(config: Config) -> None:
        config.authorization_modes = modes

    async def main() -> None:
        async with shared_store() as store, reporting(store, certificates, change=change):
            assert not [record for record in caplog.records if record.message == "reconcile failed, trying again"]

    run(main())


def test_servers_that_start_at_the_same_time_are_all_reported(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, reporting(store, certificates) as first, AsyncExitStack() as stack:
            others = [AsyncExitStack() for _ in range(2)]
            for other in others:
                stack.push_async_callback(other.aclose)
            planes = await asyncio.gather(
                *(other.enter_async_context(reporting(store, certificates)) for other in others)
            )
            ids = {own_id(plane) for plane in (first, *planes)}
            for item in (await Objects(first).of(STORAGE_VERSIONS, namespaced=False).list()).items:
                assert {one["apiServerID"] for one in item["status"]["storageVersions"]} == ids, meta.name(item)

    run(main())


def test_a_mixed_state_is_seen_and_ends_when_the_old_server_goes(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, reporting(store, certificates, stores="v1") as new:
            async with reporting(store, certificates, stores="v1beta1") as old:
                both = await storage_version(new, "example.org.widgets")
                servers = {one["apiServerID"]: one["encodingVersion"] for one in both["status"]["storageVersions"]}
                assert servers == {own_id(new): "example.org/v1", own_id(old): "example.org/v1beta1"}
                assert "commonEncodingVersion" not in both["status"]
                (condition,) = both["status"]["conditions"]
                assert (condition["type"], condition["status"]) == ("AllEncodingVersionsEqual", "False")
                alike = await storage_version(new, "core.configmaps")
                assert alike["status"]["commonEncodingVersion"] == "v1"

            async def settled() -> bool:
                status = (await storage_version(new, "example.org.widgets"))["status"]
                return status.get("commonEncodingVersion") == "example.org/v1" and len(status["storageVersions"]) == 1

            await until(settled)

    run(main())


def test_entries_without_a_lease_go_and_the_object_with_the_last(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, reporting(store, certificates) as plane:
            versions = Objects(plane).of(STORAGE_VERSIONS, namespaced=False)
            made = await versions.create(
                {
                    "apiVersion": "internal.apiserver.k8s.io/v1alpha1",
                    "kind": "StorageVersion",
                    "metadata": {"name": "example.org.gadgets"},
                }
            )
            entry = {"apiServerID": "apiserver-gone", "encodingVersion": "v1", "decodableVersions": ["v1"]}
            status = {"storageVersions": [entry], "commonEncodingVersion": "v1"}
            await versions.update_status({**made, "status": status})

            async def gone() -> bool:
                return "example.org.gadgets" not in {meta.name(item) for item in (await versions.list()).items}

            await until(gone)
            assert "example.org.widgets" in {meta.name(item) for item in (await versions.list()).items}

    run(main())


def test_a_lease_that_cannot_be_read_is_no_reason_to_take_a_server_out(certificates: Path) -> None:
    """kube-controller-manager takes any error for a missing lease, and forgets servers that live."""

    class Failing:
        on = False

        def filter(self) -> Filter:
            def wrap(following: Handler, _config: FilterConfig) -> Handler:
                async def handle(request: Request) -> Response:
                    if self.on and request.info.resource == "leases" and request.info.verb == "get":
                        raise APIError(500, "InternalError", "no answer")
                    return await following(request)

                return handle

            return Filter("failing", wrap)

    async def main() -> None:
        failing = Failing()

        def change(config: Config) -> None:
            config.filters = (*config.filters, failing.filter())

        async with shared_store() as store, reporting(store, certificates, change=change) as plane:
            versions = Objects(plane).of(STORAGE_VERSIONS, namespaced=False)
            failing.on = True
            found = await storage_version(plane, "example.org.widgets")
            entry = {"apiServerID": "apiserver-gone", "encodingVersion": "v1", "decodableVersions": ["v1"]}
            servers = [*found["status"]["storageVersions"], entry]
            status = {"storageVersions": servers, "conditions": found["status"]["conditions"]}
            await versions.update_status({**found, "status": status})
            await asyncio.sleep(0.5)
            assert len((await storage_version(plane, "example.org.widgets"))["status"]["storageVersions"]) == 2
            failing.on = False

            async def taken_out() -> bool:
                left = (await storage_version(plane, "example.org.widgets"))["status"]["storageVersions"]
                return [one["apiServerID"] for one in left] == [own_id(plane)]

            await until(taken_out)

    run(main())


def test_writes_wait_until_their_resource_is_reported(certificates: Path, tmp_path: Path) -> None:
    """While reports cannot be written, reads and what the reports stand on pass; the rest is 503, and says why."""

    async def main() -> None:
        reported = asyncio.Event()

        def wrap(following: Handler, _config: FilterConfig) -> Handler:
            async def handle(request: Request) -> Response:
                if not reported.is_set() and request.info.resource == "storageversions":
                    raise APIError(500, "InternalError", "not now")
                return await following(request)

            return handle

        config = plane_config(tmp_path, cert_dir=certificates)
        config.resources = [*BUILTIN]
        config.filters = insert_before(config.filters, "storage-versions", Filter("failing", wrap))
        async with open_plane(config.complete()) as plane, plane.prepare().serving() as running:
            client = running.loopback(ADMIN)
            configmaps, leases = (ResourceClient(client, gvr, namespaced=True) for gvr in (CONFIGMAPS, LEASES))
            assert plane.presence.lease is not None
            await plane.presence.lease.written()
            configmap = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "kube-system"}}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": configmap["metadata"]}

            async def refused() -> bool:
                with pytest.raises(APIError) as error:
                    await configmaps.create(configmap)
                assert (error.value.code, error.value.reason) == (503, "ServiceUnavailable")
                text = "wait for storage version registration to complete for resource: configmaps, last seen error: "
                assert error.value.message in (f"{text}<nil>", f"{text}not now")
                return error.value.message == f"{text}not now"

            await until(refused)
            assert (await configmaps.list("kube-system")).items == []
            await leases.create(lease)
            with pytest.raises(APIError, match=r"for resource: leases\.coordination"):
                await leases.create({**lease, "metadata": {"name": "a", "namespace": "default"}})
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            answer = await client.request(
                "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=dumps(review)
            )
            assert answer.status == 201, "it is not stored"
            ready = await client.request("GET", "/readyz", query=[("verbose", "")])
            assert b"[-]poststarthook/built-in-resources-storage-version-updater" in ready.content()
            reported.set()
            await running.ready()
            await configmaps.create(configmap)

    run(main())
