"""lightkube, unchanged: lists, watches with resume, patches in all types, server-side apply, deletes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from controlplane.testing.planes import ThreadedPlane
from tests.integration.clients.widgets import DEFINITION, widget

lightkube: Any = pytest.importorskip("lightkube", reason="no lightkube (PyPI: lightkube)")
codecs: Any = pytest.importorskip("lightkube.codecs")
core_v1: Any = pytest.importorskip("lightkube.resources.core_v1")
meta_v1: Any = pytest.importorskip("lightkube.models.meta_v1")
generic: Any = pytest.importorskip("lightkube.generic_resource")
types: Any = pytest.importorskip("lightkube.types")
models: Any = pytest.importorskip("lightkube.models.core_v1")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def client(control_plane: ThreadedPlane) -> Iterator[Any]:
    config = lightkube.KubeConfig.from_file(control_plane.kubeconfig)
    with lightkube.Client(config=config, namespace="default", field_manager="lightkube-test", trust_env=False) as made:
        yield made


def config_map(name: str, **data: str) -> Any:
    return core_v1.ConfigMap(metadata=meta_v1.ObjectMeta(name=name, labels={"app": "shop"}), data=data)


def names(events: Any) -> list[tuple[str, str]]:
    return [(kind, obj.metadata.name) for kind, obj in events]


def test_lists_in_chunks_and_by_selectors(client: Any) -> None:
    for index in range(5):
        client.create(config_map(f"m{index}", i=str(index)))
    listed = client.list(core_v1.ConfigMap, chunk_size=2)
    assert [item.metadata.name for item in listed] == [f"m{i}" for i in range(5)]
    assert listed.resourceVersion
    assert list(client.list(core_v1.ConfigMap, labels={"app": "other"})) == []
    (one,) = client.list(core_v1.ConfigMap, labels={"app": ["shop", "mill"]}, fields={"metadata.name": "m3"})
    assert one.data == {"i": "3"}


def test_watch_goes_on_after_the_server_ended_it(client: Any) -> None:
    """The server ends each watch after its second; the client sends the next from the last event's version."""
    listed = client.list(core_v1.ConfigMap)
    assert list(listed) == []
    events = client.watch(core_v1.ConfigMap, resource_version=listed.resourceVersion, server_timeout=1)
    client.create(config_map("a"))
    client.create(config_map("b"))
    seen = names(islice(events, 2))
    later = threading.Timer(1.2, client.delete, (core_v1.ConfigMap, "a"))  # the first watch is over by then
    later.start()
    seen += names(islice(events, 1))
    later.join()
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_watch_resumes_from_a_version(client: Any) -> None:
    first = client.create(config_map("a"))
    client.create(config_map("b"))
    client.delete(core_v1.ConfigMap, "a")
    events = client.watch(core_v1.ConfigMap, resource_version=first.metadata.resourceVersion, server_timeout=5)
    assert names(islice(events, 2)) == [("ADDED", "b"), ("DELETED", "a")]


def test_patches_in_all_types(client: Any) -> None:
    client.create(config_map("m", a="1", b="2"))
    merged = client.patch(core_v1.ConfigMap, "m", {"data": {"a": None, "c": "3"}}, patch_type=types.PatchType.MERGE)
    assert merged.data == {"b": "2", "c": "3"}
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "4"}]
    replaced = client.patch(core_v1.ConfigMap, "m", operations, patch_type=types.PatchType.JSON)
    assert replaced.data == {"b": "4", "c": "3"}
    with pytest.raises(lightkube.ApiError) as refused:
        client.patch(core_v1.ConfigMap, "m", operations, patch_type=types.PatchType.JSON)
    assert refused.value.status.reason == "Invalid"
    account = core_v1.ServiceAccount(
        metadata=meta_v1.ObjectMeta(name="robot"), secrets=[models.ObjectReference(name="one")]
    )
    client.create(account)
    both = client.patch(core_v1.ServiceAccount, "robot", {"secrets": [{"name": "two"}]})  # strategic, by the key "name"
    assert {secret.name for secret in both.secrets} == {"one", "two"}


def test_server_side_apply_and_its_conflict(client: Any) -> None:
    applied = client.apply(config_map("m", a="1"))
    assert [(entry.manager, entry.operation) for entry in applied.metadata.managedFields] == [
        ("lightkube-test", "Apply")
    ]
    with pytest.raises(lightkube.ApiError) as conflict:
        client.apply(config_map("m", a="2"), field_manager="other")
    assert conflict.value.status.code == 409
    assert [cause.field for cause in conflict.value.status.details.causes] == [".data.a"]
    assert client.apply(config_map("m", a="2"), field_manager="other", force=True).data == {"a": "2"}


def test_deletes_one_and_all(client: Any) -> None:
    for name in ("a", "b", "c"):
        client.create(config_map(name))
    client.delete(core_v1.ConfigMap, "a")
    with pytest.raises(lightkube.ApiError) as gone:
        client.get(core_v1.ConfigMap, "a")
    assert gone.value.status.reason == "NotFound"
    client.deletecollection(core_v1.ConfigMap)
    assert list(client.list(core_v1.ConfigMap)) == []


def test_custom_resource(client: Any) -> None:
    (definition,) = codecs.load_all_yaml(json.dumps(DEFINITION))
    client.create(definition)
    generic.load_in_cluster_generic_resources(client)  # finds the kind as the server describes it
    kind = generic.get_generic_resource("example.org/v1", "Widget")
    applied = client.apply(kind(widget("door", "red")))
    events = client.watch(kind, resource_version=applied.metadata.resourceVersion, server_timeout=5)
    client.patch(kind, "door", {"spec": {"color": "blue"}}, patch_type=types.PatchType.MERGE)
    client.patch(kind.Status, "door", {"status": {"painted": "blue"}}, patch_type=types.PatchType.MERGE)
    client.delete(kind, "door")
    seen = [(event, obj.spec["color"], obj.status) for event, obj in islice(events, 3)]
    assert [event for event, _, _ in seen] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert seen[-1][1:] == ("blue", {"painted": "blue"})
