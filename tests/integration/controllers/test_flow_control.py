"""The flow schemas and priority levels that come with a server: all there soon after it is ready, and kept as upstream
keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apis.flowcontrol.mandatory import MANDATORY_FLOW_SCHEMAS, MANDATORY_PRIORITY_LEVELS
from controlplane.base.tasks import TaskGroup
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.controllers import flow_control
from controlplane.controllers.builtin import BUILTIN
from controlplane.controllers.descriptor import ControllerContext
from controlplane.controllers.flow_control.bootstrap import AUTOUPDATE, FLOW_SCHEMAS, PRIORITY_LEVELS, ROUND_SECONDS
from controlplane.controllers.flow_control.suggested import SUGGESTED_FLOW_SCHEMAS, SUGGESTED_PRIORITY_LEVELS
from controlplane.generic.config import Config
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.manager import Manager
from controlplane.testing.clock import FakeClock
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, found, until

SCHEMAS = {**MANDATORY_FLOW_SCHEMAS, **SUGGESTED_FLOW_SCHEMAS}
LEVELS = {**MANDATORY_PRIORITY_LEVELS, **SUGGESTED_PRIORITY_LEVELS}


def all_controllers(config: Config) -> None:
    config.controllers = list(BUILTIN)


async def listed(client: ResourceClient) -> dict[str, Obj]:
    return {meta.name(obj): obj for obj in (await client.list()).items}


def dangling(schema: Obj) -> dict[str, str]:
    conditions = {one["type"]: one for one in (schema.get("status") or {}).get("conditions") or ()}
    return {key: conditions.get("Dangling", {}).get(key, "") for key in ("status", "reason", "message")}


class Rounds:
    """The controllers at work on a plane, their minutes passing when the test says so."""

    def __init__(self, schemas: ResourceClient, levels: ResourceClient, clock: FakeClock) -> None:
        self.schemas, self.levels, self._clock = schemas, levels, clock

    async def next(self) -> None:
        await self._clock.advance(ROUND_SECONDS)

    async def annotate(self, name: str, value: str | None) -> None:
        await self.schemas.patch(Key("", name), {"metadata": {"annotations": {AUTOUPDATE: value}}})

    async def precede(self, name: str, precedence: int) -> None:
        await self.schemas.patch(Key("", name), {"spec": {"matchingPrecedence": precedence}})

    async def precedence(self, name: str) -> int:
        return int((await self.schemas.get(Key("", name)))["spec"]["matchingPrecedence"])

    async def annotation(self, name: str) -> str:
        return meta.annotations(await self.schemas.get(Key("", name))).get(AUTOUPDATE, "")


@asynccontextmanager
async def rounds() -> AsyncIterator[Rounds]:
    """A plane on which they have made all of theirs."""
    async with running_plane() as plane:
        clock, objects = FakeClock(), Objects(plane)
        context = ControllerContext(
            served=frozenset(),
            client_for=lambda _name: plane.client(),
            informers=InformerSet(plane.client(), clock=clock),
            clock=clock,
        )
        manager = Manager()
        for descriptor in (flow_control.BOOTSTRAP, flow_control.CONDITIONS):
            manager.add(descriptor.build(context))
        schemas = objects.of(FLOW_SCHEMAS, namespaced=False)
        levels = objects.of(PRIORITY_LEVELS, namespaced=False)

        async def all_made() -> bool:
            told = [dangling(schema)["status"] for schema in (await listed(schemas)).values()]
            return len(told) == len(SCHEMAS) and set(told) == {"False"} and set(await listed(levels)) == set(LEVELS)

        async with TaskGroup("test") as group:
            running = group.start(manager.run(), name="manager")
            await until(all_made)
            yield Rounds(schemas, levels, clock)
            clock.let_go()
            running.cancel()


def test_all_are_there_soon_after_the_server_is_ready_and_a_second_start_writes_nothing(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"

    async def seen() -> dict[str, Obj]:
        async with running_plane(tmp_path, store=store, configure=all_controllers) as plane:
            schemas = Objects(plane).of(FLOW_SCHEMAS, namespaced=False)
            levels = Objects(plane).of(PRIORITY_LEVELS, namespaced=False)

            async def settled() -> bool:
                told = [dangling(schema)["reason"] for schema in (await listed(schemas)).values()]
                return told.count("Found") == len(SCHEMAS) and len(await listed(levels)) == len(LEVELS)

            await until(settled)
            return {**await listed(schemas), **{f"level/{name}": obj for name, obj in (await listed(levels)).items()}}

    async def main() -> None:
        first = await seen()
        for name, spec in SCHEMAS.items():
            assert first[name]["spec"] == spec
            assert meta.annotations(first[name]) == {AUTOUPDATE: "true"}
        for name, spec in LEVELS.items():
            assert first[f"level/{name}"]["spec"] == spec
        assert dangling(first["probes"])["message"] == (
            'This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists'
        )
        managers = {field["manager"] for field in meta.managed_fields(first["probes"])}
        assert managers == {
            "api-priority-and-fairness-config-producer-v1",
            "api-priority-and-fairness-config-consumer-v1",
        }
        second = await seen()
        assert {name: meta.resource_version(obj) for name, obj in second.items()} == {
            name: meta.resource_version(obj) for name, obj in first.items()
        }

    run(main())


@pytest.mark.parametrize("off", ["flowschemas", "prioritylevelconfigurations"])
def test_they_are_gone_where_one_of_the_kinds_is_off(off: str) -> None:
    def configure(config: Config) -> None:
        config.controllers = list(BUILTIN)
        gr = GroupResource("flowcontrol.apiserver.k8s.io", off)
        config.resources = [resource for resource in config.resources if resource.gr != gr]

    async def main() -> None:
        async with running_plane(configure=configure) as plane:
            other = PRIORITY_LEVELS if off == "flowschemas" else FLOW_SCHEMAS
            assert await listed(Objects(plane).of(other, namespaced=False)) == {}

    run(main())


def test_what_is_removed_comes_back_with_the_next_round() -> None:
    async def main() -> None:
        async with rounds() as working:
            for name in ("probes", "exempt"):
                await working.schemas.delete(Key("", name))
            await working.levels.delete(Key("", "system"))
            assert await found(working.schemas.get(Key("", "probes"))) is None
            await working.next()

            async def back() -> bool:
                return {"probes", "exempt"} <= set(await listed(working.schemas)) and "system" in await listed(
                    working.levels
                )

            await until(back)

    run(main())


def test_a_suggested_one_follows_the_server_unless_its_annotation_says_no() -> None:
    async def main() -> None:
        async with rounds() as working:
            await working.precede("probes", 7)
            await working.precede("service-accounts", 8)
            await working.annotate("service-accounts", "false")
            await working.precede("global-default", 9)
            await working.annotate("global-default", None)  # changed, and nothing said: the operator's from now on
            await working.annotate("system-nodes", "perhaps")  # not changed: the server's again
            await working.schemas.patch(
                Key("", "system-node-high"), [{"op": "remove", "path": "/metadata/annotations"}], PatchType.JSON
            )
            await working.next()

            async def mended() -> bool:
                return [await working.precedence("probes"), await working.annotation("global-default")] == [2, "false"]

            await until(mended)
            await working.next()
            assert await working.precedence("service-accounts") == 8
            assert await working.precedence("global-default") == 9
            assert await working.annotation("system-nodes") == "true"
            assert await working.annotation("system-node-high") == "true"

    run(main())


def test_a_mandatory_one_is_made_true_whatever_its_annotation_says_but_for_the_figures_of_exempt() -> None:
    async def main() -> None:
        async with rounds() as working:
            await working.annotate("catch-all", "false")
            exempt = Key("", "exempt")
            await working.levels.patch(exempt, {"spec": {"exempt": {"lendablePercent": 30}}})
            await working.levels.patch(exempt, {"metadata": {"annotations": {AUTOUPDATE: "false"}}})
            await working.next()

            async def mended() -> bool:
                said = meta.annotations(await working.levels.get(exempt)).get(AUTOUPDATE)
                return [await working.annotation("catch-all"), said] == ["true", "true"]

            await until(mended)
            assert (await working.levels.get(exempt))["spec"]["exempt"] == {
                "nominalConcurrencyShares": 0,
                "lendablePercent": 30,
            }

    run(main())


def test_those_of_an_earlier_release_go_unless_somebody_has_taken_them_over() -> None:
    def schema(name: str, annotations: dict[str, str]) -> Obj:
        spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 50}
        return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}

    async def main() -> None:
        async with rounds() as working:
            for name, annotations in (
                ("earlier", {AUTOUPDATE: "true"}),
                ("taken-over", {AUTOUPDATE: "false"}),
                ("unclear", {AUTOUPDATE: "perhaps"}),
                ("somebodys", {}),
            ):
                await working.schemas.create(schema(name, annotations))
            await working.next()

            async def gone() -> bool:
                return "earlier" not in await listed(working.schemas)

            await until(gone)
            assert {"taken-over", "unclear", "somebodys"} <= set(await listed(working.schemas))

    run(main())


def test_a_schema_says_whether_its_level_exists_as_levels_come_and_go() -> None:
    async def main() -> None:
        async with rounds() as working:
            spec = {"priorityLevelConfiguration": {"name": "mine"}, "matchingPrecedence": 50}
            await working.schemas.create({"metadata": {"name": "mine"}, "spec": spec})

            def says(status: str, reason: str, end: str) -> dict[str, str]:
                about = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"'
                return {"status": status, "reason": reason, "message": f"{about} {end}"}

            async def wait_for(expected: dict[str, str]) -> None:
                async def said() -> bool:
                    return dangling(await working.schemas.get(Key("", "mine"))) == expected

                await until(said)

            await wait_for(says("True", "NotFound", "but there is no such object"))
            level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
            await working.levels.create({"metadata": {"name": "mine"}, "spec": level})
            await wait_for(says("False", "Found", "and it exists"))
            await working.levels.delete(Key("", "mine"))
            await wait_for(says("True", "NotFound", "but there is no such object"))

    run(main())
