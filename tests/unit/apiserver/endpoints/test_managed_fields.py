"""Managed fields on creates, updates and patches, as a client sees them."""

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.plane import PLUGINS, Plane, running_plane

PATH = "/api/v1/namespaces/ns/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


def owners(obj: Obj) -> dict[str, Any]:
    return {f"{e['manager']} {e['operation']}": e["fieldsV1"] for e in obj["metadata"].get("managedFields", [])}


@pytest.mark.parametrize(
    ("query", "agent", "manager"),
    [
        pytest.param("?fieldManager=me", "tool/1", "me", id="named"),
        pytest.param("", "tool-x/1.2 (linux)/3", "tool-x", id="program"),
        pytest.param("?fieldManager=", "plain agent", "plain agent", id="no slash"),
        pytest.param("", "t\u00e4\u200bg/1", "t\u00e4g", id="only what is printable"),
        pytest.param("", "x" * 200, "x" * 128, id="as much as fits"),
        pytest.param("", "\u00e4" * 100, "\u00e4" * 64, id="as many bytes as fit"),
        pytest.param("", "", "unknown", id="nobody"),
    ],
)
def test_a_write_is_by_the_named_manager_or_by_the_program(query: str, agent: str, manager: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            body = {"metadata": {"name": "a"}, "data": {"k": "1"}}
            answer = await plane.call("POST", PATH + query, body, headers={"User-Agent": agent})
            assert list(owners(answer.body)) == [f"{manager} Update"]

    run(scenario())


@pytest.mark.parametrize(
    ("method", "headers", "body"),
    [
        pytest.param("PUT", {}, {"metadata": {"name": "a"}, "data": {"k": "1", "z": "3"}}, id="update"),
        pytest.param("PATCH", MERGE, {"data": {"z": "3"}}, id="merge patch"),
        pytest.param("PATCH", STRATEGIC, {"data": {"z": "3"}}, id="strategic merge patch"),
        pytest.param("PATCH", JSON_PATCH, [{"op": "replace", "path": "/data/z", "value": "3"}], id="JSON patch"),
    ],
)
@pytest.mark.parametrize("dry_run", ["", "&dryRun=All"])
def test_a_change_takes_its_fields_from_others(method: str, headers: dict[str, str], body: Any, dry_run: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a", data={"k": "1", "z": "2"})
            answer = await plane.call(method, f"{PATH}/a?fieldManager=two{dry_run}", body, headers=headers)
            assert owners(answer.body) == {
                "unknown Update": {"f:data": {".": {}, "f:k": {}}},
                "two Update": {"f:data": {"f:z": {}}},
            }

    run(scenario())


@pytest.mark.parametrize("sent", [[], [{}]])
def test_an_empty_list_resets_and_only_an_apply_begins_again(sent: list[Any]) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a", data={"k": "1"})
            body = {"metadata": {"name": "a", "managedFields": sent}, "data": {"k": "1"}}
            assert "managedFields" not in (await plane.call("PUT", f"{PATH}/a", body)).body["metadata"]
            patch = {"metadata": {"managedFields": sent}, "data": {"k": "2"}}
            assert (
                "managedFields" not in (await plane.call("PATCH", f"{PATH}/a", patch, headers=MERGE)).body["metadata"]
            )
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"j": "1"}}
            headers = {"Content-Type": "application/apply-patch+yaml"}
            applied = await plane.call("PATCH", f"{PATH}/a?fieldManager=me", config, headers=headers)
            assert owners(applied.body) == {
                "me Apply": {"f:data": {"f:j": {}}},
                "before-first-apply Update": {"f:data": {".": {}, "f:k": {}}},
            }

    run(scenario())


def test_managed_fields_that_cannot_be_read_are_as_if_not_sent() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            created = await plane.config_map("a", data={"k": "1"})
            entry = {"manager": "odd", "operation": "Update", "apiVersion": "v1", "fieldsType": "Other"}
            body = {"metadata": {"name": "a", "managedFields": [entry]}, "data": {"k": "1"}}
            assert (await plane.call("PUT", f"{PATH}/a", body)).body == created

    run(scenario())


def test_managed_fields_through_a_subresource_are_not_the_clients() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            body = {"metadata": {"name": "ns", "managedFields": []}, "status": {"phase": "Active"}}
            answer = await plane.call("PUT", "/api/v1/namespaces/ns/status?fieldManager=two", body)
            assert "unknown Update" in owners(answer.body)

    run(scenario())


def test_an_event_keeps_its_owners_through_either_of_its_groups() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            event = {
                "metadata": {"name": "e"},
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "reportingController": "example.com/c",
                "reportingInstance": "i",
                "action": "a",
                "reason": "r",
                "type": "Normal",
                "regarding": {"kind": "X", "namespace": "ns"},
                "note": "m",
            }
            created = "/apis/events.k8s.io/v1/namespaces/ns/events?fieldManager=one"
            assert (await plane.call("POST", created, event)).status == 201
            changed = "/api/v1/namespaces/ns/events/e?fieldManager=two"
            answer = await plane.call("PATCH", changed, {"message": "n"}, headers=MERGE)
            assert answer.status == 200
            owned = {e["manager"]: (e["apiVersion"], e["fieldsV1"]) for e in answer.body["metadata"]["managedFields"]}
            assert owned["two"] == ("v1", {"f:message": {}})
            version, fields = owned["one"]
            assert version == "events.k8s.io/v1"
            assert "f:regarding" in fields
            assert "f:note" not in fields

    run(scenario())


async def _rewrites(attributes: Attributes) -> None:
    assert attributes.obj is not None
    attributes.obj["data"] = {"k": "always"}


async def _spoils(attributes: Attributes) -> None:
    assert attributes.obj is not None
    attributes.obj["metadata"]["managedFields"] = [{"operation": "Odd"}]


async def _forgets(attributes: Attributes) -> None:
    assert attributes.obj is not None
    del attributes.obj["metadata"]["managedFields"]


def _plugin(hook: Any) -> AdmissionPlugin:
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    # only configmaps: a namespace has no data
    return AdmissionPlugin(
        name="Test", default_on=True, build=lambda _services: Hooks(operations=operations, mutate=_on_config_maps(hook))
    )


def _on_config_maps(hook: Any) -> Any:
    async def mutate(attributes: Attributes) -> None:
        if attributes.kind.kind == "ConfigMap":
            await hook(attributes)

    return mutate


async def _created(plane: Plane) -> Any:
    await plane.namespace()
    return await plane.call("POST", PATH, {"metadata": {"name": "a"}, "data": {"k": "1"}})


def test_admission_that_spoils_managed_fields_is_undone_with_a_warning() -> None:
    async def scenario() -> None:
        async with running_plane(plugins=(*PLUGINS, _plugin(_spoils))) as plane:
            answer = await _created(plane)
            assert owners(answer.body) == {"unknown Update": {"f:data": {".": {}, "f:k": {}}}}
            (warning,) = answer.warnings
            assert warning == (
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated "
                "mutating admission controller; please fix your requests: operation must be `Apply` or `Update`"
            )

    run(scenario())


def test_admission_may_take_managed_fields_away() -> None:
    async def scenario() -> None:
        async with running_plane(plugins=(*PLUGINS, _plugin(_forgets))) as plane:
            answer = await _created(plane)
            assert "managedFields" not in answer.body["metadata"]
            assert answer.warnings == []

    run(scenario())


def test_a_change_that_admission_takes_back_leaves_no_new_time() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with running_plane(plugins=(*PLUGINS, _plugin(_rewrites)), clock=clock) as plane:
            created = (await _created(plane)).body
            await clock.advance(10)
            again = await plane.call("PUT", f"{PATH}/a", {"metadata": {"name": "a"}, "data": {"k": "2"}})
            assert again.body == created

    run(scenario())
