"""The official Python client, unchanged: lists, pages, watches with resume, deletes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import kubernetes as untyped
import pytest

from tests.processes import NO_CONTROLLERS, Plane, sample_plane
from tests.stores import STORES, store_url

kubernetes: Any = untyped  # the package has types for some of its parts only
# the client's own code warns on some Python and urllib3 versions; its warnings are not ours
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", params=STORES)
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    directory = tmp_path_factory.mktemp("plane")
    with (
        store_url(request.param, directory) as url,
        sample_plane(directory, store=url, flags=NO_CONTROLLERS) as running,
    ):
        yield running


@pytest.fixture
def core(plane: Plane) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(plane.kubeconfig)) as client:
        yield kubernetes.client.CoreV1Api(client)


def config_map(name: str, **data: str) -> Any:
    return kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name=name), data=data)


def test_lists_in_pages(core: Any) -> None:
    core.create_namespace(kubernetes.client.V1Namespace(metadata=kubernetes.client.V1ObjectMeta(name="pages")))
    for index in range(5):
        core.create_namespaced_config_map("pages", config_map(f"m{index}", i=str(index)))
    names: list[str] = []
    token = None
    while True:
        page = core.list_namespaced_config_map("pages", limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"m{i}" for i in range(5)]


def test_watch_resumes_where_it_ended(core: Any) -> None:
    core.create_namespace(kubernetes.client.V1Namespace(metadata=kubernetes.client.V1ObjectMeta(name="resume")))
    start = core.list_namespaced_config_map("resume").metadata.resource_version
    core.create_namespaced_config_map("resume", config_map("a"))
    watch = kubernetes.watch.Watch()
    first = next(
        iter(watch.stream(core.list_namespaced_config_map, "resume", resource_version=start, timeout_seconds=10))
    )
    watch.stop()
    assert (first["type"], first["object"].metadata.name) == ("ADDED", "a")
    core.create_namespaced_config_map("resume", config_map("b"))
    core.delete_namespaced_config_map("a", "resume")
    resumed = kubernetes.watch.Watch()
    events = []
    version = first["object"].metadata.resource_version
    for event in resumed.stream(
        core.list_namespaced_config_map, "resume", resource_version=version, timeout_seconds=10
    ):
        events.append((event["type"], event["object"].metadata.name))
        if len(events) == 2:
            resumed.stop()
    assert events == [("ADDED", "b"), ("DELETED", "a")]


def test_watch_sees_what_another_thread_writes(core: Any) -> None:
    core.create_namespace(kubernetes.client.V1Namespace(metadata=kubernetes.client.V1ObjectMeta(name="live")))
    start = core.list_namespaced_config_map("live").metadata.resource_version
    writer = threading.Thread(
        target=lambda: [core.create_namespaced_config_map("live", config_map(f"n{i}")) for i in range(20)]
    )
    watch = kubernetes.watch.Watch()
    names = []
    writer.start()
    for event in watch.stream(core.list_namespaced_config_map, "live", resource_version=start, timeout_seconds=20):
        names.append(event["object"].metadata.name)
        if len(names) == 20:
            watch.stop()
    writer.join()
    assert names == [f"n{i}" for i in range(20)]


def test_conflict_is_an_exception_with_its_reason(core: Any) -> None:
    created = core.create_namespaced_config_map("default", config_map("conflict", a="1"))
    created.data = {"a": "2"}
    core.replace_namespaced_config_map("conflict", "default", created)
    created.data = {"a": "3"}
    with pytest.raises(kubernetes.client.ApiException) as caught:
        core.replace_namespaced_config_map("conflict", "default", created)
    assert caught.value.status == 409
    core.delete_namespaced_config_map("conflict", "default")


def test_deletes_a_collection(core: Any) -> None:
    core.create_namespace(kubernetes.client.V1Namespace(metadata=kubernetes.client.V1ObjectMeta(name="many")))
    for index in range(3):
        core.create_namespaced_config_map("many", config_map(f"m{index}"))
    core.delete_collection_namespaced_config_map("many")
    assert core.list_namespaced_config_map("many").items == []
