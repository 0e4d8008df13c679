"""Storage version migrations on a whole plane: what they write, what they say, and in which order they run."""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS
from controlplane.apiserver.admission.api import Attributes, Operation, refused
from controlplane.base.clock import SystemClock
from controlplane.client.discovery import discover
from controlplane.client.results import object_of
from controlplane.generic.builtin import migrator
from controlplane.generic.config import Config
from controlplane.plugins.admission.api import function_plugin
from controlplane.storagemigration.controller import ACCOUNT
from controlplane.storagemigration.definition import Definitions
from controlplane.storagemigration.proof import REPORT_PATH
from controlplane.storagemigration.settings import MigrationOptions
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.composition.examples import EXAMPLES
from tests.integration.controllers.objects import CONFIGMAPS, until
from tests.integration.storagemigration.widgets import DEFINITION, WIDGETS, Migrations, conditions_of, stored_versions

COMPLETED = ("Running", "False", "MigrationCompleted", "Migration completed")
SUCCEEDED = ("Succeeded", "True", "StorageVersionMigrationSucceeded", "")


def test_all_objects_are_written_anew_and_the_old_version_is_forgotten() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(20)
            await m.store_as_v1()
            assert await stored_versions(plane.control_plane.kv) == {"example.org/v1beta1": 20}
            before = await m.widgets.get(Key("default", "w00000"))
            await m.migrate("to-v1")
            ended = await m.ended("to-v1")
            assert conditions_of(ended) == [COMPLETED, SUCCEEDED]
            assert await stored_versions(plane.control_plane.kv) == {"example.org/v1": 20}
            assert await m.stored_versions() == ["v1"]
            assert await m.migrating() == {
                "type": "StorageMigrating",
                "status": "False",
                "reason": "MigrationSucceeded",
                "message": "The migration has succeeded and the stored versions have been updated",
                "observedGeneration": 2,
            }
            after = await m.widgets.get(Key("default", "w00000"))
            assert without_revision(after) == without_revision(before), "a migration changes nothing that is seen"
            event = await m.said("to-v1")
            assert (event["type"], event["reason"]) == ("Normal", "MigrationSucceeded")
            assert event["message"].startswith(
                "20 seen: 20 rewritten, 0 already current, 0 changed or deleted meanwhile, 0 failed"
            )

    run(main())


def test_what_is_current_already_is_not_written() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            await m.make("a")
            before = await m.find("a")
            await m.migrate("again", CONFIGMAPS)
            assert conditions_of(await m.ended("again")) == [COMPLETED, SUCCEEDED]
            assert await m.find("a") == before
            event = await m.said("again")
            assert " 0 rewritten, " in event["message"]

    run(main())


def refuses(name: str, config: Config) -> None:
    """Let admission refuse changes of the widget of this name."""

    async def refuse(attributes: Attributes) -> None:
        if meta.name(attributes.obj or {}) == name:
            raise refused(attributes, "not this one")

    config.admission.append(
        function_plugin("Refusing", validate=refuse, operations={Operation.UPDATE}, resources={"widgets.example.org"})
    )


def test_a_migration_that_fails_writes_the_rest_and_leaves_the_stored_versions_alone() -> None:
    async def main() -> None:
        async with running_plane(configure=lambda config: refuses("w00003", config)) as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(10)
            await m.store_as_v1()
            await m.migrate("to-v1")
            completed, failed = conditions_of(await m.ended("to-v1"))
            assert completed == COMPLETED
            assert failed[:3] == ("Failed", "True", "StorageVersionMigrationFailed")
            assert failed[3].startswith("migration encountered unhandled error: ")
            assert failed[3].endswith("not this one")
            assert await stored_versions(plane.control_plane.kv) == {"example.org/v1": 9, "example.org/v1beta1": 1}
            assert await m.stored_versions() == ["v1beta1", "v1"]
            migrating = await m.migrating() or {}
            assert (migrating["status"], migrating["reason"]) == ("False", "MigrationFailed")
            event = await m.said("to-v1")
            assert event["type"] == "Warning"
            assert (
                "10 seen: 9 rewritten, 0 already current, 0 changed or deleted meanwhile, 1 failed" in event["message"]
            )

    run(main())


def test_migrations_of_one_resource_take_turns_the_oldest_first() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            async with m.migrations.watch(resource_version="", bookmarks=False) as events:
                for name in ("b", "a", "c"):
                    await m.migrate(name, CONFIGMAPS)
                running: list[str] = []
                ended: set[str] = set()
                while len(ended) < 3:
                    obj = (await anext(events)).object
                    states = {c["type"]: c["status"] for c in obj.get("status", {}).get("conditions", ())}
                    name = obj["metadata"]["name"]
                    if "Succeeded" in states:
                        ended.add(name)
                    elif states.get("Running") == "True" and name not in running:
                        assert set(running) <= ended, "one at a time"
                        running.append(name)
            created = {name: await m.migrations.get(Key("", name)) for name in "abc"}
            times = {name: (obj["metadata"]["creationTimestamp"], name) for name, obj in created.items()}
            # a migration of an empty resource may have ended before the next was made
            assert running[1:] == sorted(running[1:], key=times.__getitem__)

    run(main())


def test_a_definition_that_changes_meanwhile_keeps_its_stored_versions() -> None:
    async def main() -> None:
        async with running_plane(configure=slowly) as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(30)
            await m.store_as_v1()
            await m.migrate("to-v1")

            async def runs() -> bool:
                return (await m.migration("to-v1") or {}).get("status", {}).get("resourceVersion") is not None

            await until(runs)
            await m.definitions.patch(DEFINITION, {"spec": {"names": {"shortNames": ["wd"]}}})
            assert conditions_of(await m.ended("to-v1")) == [COMPLETED, SUCCEEDED]
            assert await m.stored_versions() == ["v1beta1", "v1"]
            assert (await m.migrating() or {})["message"] == (
                "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
            )

    run(main())


def test_the_next_migration_leaves_the_stored_versions_alone_until_it_succeeds() -> None:
    async def main() -> None:
        async with running_plane(configure=lambda config: refuses("w00003", config)) as plane:
            m = Migrations(plane)
            await m.define()
            await m.store_as_v1()
            await m.migrate("to-v1")
            await m.ended("to-v1")
            assert await m.stored_versions() == ["v1"]
            await m.make_widgets(5)
            await m.store_as_v1beta1()
            assert await m.stored_versions() == ["v1", "v1beta1"]
            await m.migrate("back")
            assert conditions_of(await m.ended("back"))[1][:2] == ("Failed", "True")
            assert await stored_versions(plane.control_plane.kv) == {"example.org/v1": 1, "example.org/v1beta1": 4}
            assert await m.stored_versions() == ["v1", "v1beta1"], "one object is stored as v1 still"

    run(main())


def test_success_that_is_noted_twice_is_noted_once() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m, definitions = Migrations(plane), Definitions(plane.client(), SystemClock())
            await m.define()
            await definitions.began(WIDGETS.gr, "to-v1")
            await m.store_as_v1()
            for _ in range(2):  # as by who was stopped before it could note that the migration is cleaned up
                await definitions.succeeded(WIDGETS.gr)
                assert "generation mismatch" in (await m.migrating() or {})["message"]
                assert await m.stored_versions() == ["v1beta1", "v1"]

    run(main())


def test_a_resource_that_is_not_served_is_waited_for_and_that_is_said() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            await m.migrate("early")

            async def is_said() -> bool:
                status = (await m.migration("early") or {}).get("status", {})
                return any(
                    "widgets.example.org is not served; waiting for it" in condition["message"]
                    for condition in status.get("conditions", ())
                )

            await until(is_said)
            await m.define()
            assert conditions_of(await m.ended("early")) == [COMPLETED, SUCCEEDED]

    run(main())


def slowly(config: Config) -> None:
    """Thirty objects a second."""
    slow = migrator(MigrationOptions(writes=2, writes_per_second=30))
    config.controllers = [slow if c.name == slow.name else c for c in config.controllers]


def test_a_migration_that_is_deleted_stops_and_its_definition_says_so() -> None:
    async def main() -> None:
        async with running_plane(configure=slowly) as plane:
            m = Migrations(plane)
            await m.define()
            await m.make_widgets(30)
            await m.store_as_v1()
            await m.migrate("to-v1")

            async def runs() -> bool:
                return await m.migrating() is not None

            await until(runs)
            await m.migrations.delete(Key("", "to-v1"))

            async def is_over() -> bool:
                migrating = await m.migrating()
                return migrating is not None and migrating["status"] == "False"

            await until(is_over)
            assert (await m.migrating() or {})["reason"] == "MigrationFailed"
            assert await m.stored_versions() == ["v1beta1", "v1"]

    run(main())


def test_a_resource_that_cannot_be_written_fails_at_once() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            await m.migrate("reviews", GVR("authentication.k8s.io", "v1", "tokenreviews"))
            why = 'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: '
            assert conditions_of(await m.ended("reviews")) == [
                COMPLETED,
                ("Failed", "True", "StorageVersionMigrationFailed", f"{why}[update patch list]"),
            ]

    run(main())


def test_success_without_a_count_says_so() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            roles = m.of(GVR("rbac.authorization.k8s.io", "v1", "clusterroles"), namespaced=False)
            key = Key("", "system:controller:storage-version-migrator-controller")
            rules = [rule for rule in (await roles.get(key))["rules"] if "nonResourceURLs" not in rule]
            await roles.patch(key, {"rules": rules})

            async def may_not_ask() -> bool:
                path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
                asked = {
                    "user": f"system:serviceaccount:kube-system:{ACCOUNT}",
                    "nonResourceAttributes": {"verb": "get", "path": REPORT_PATH},
                }
                answer = await plane.client().request("POST", path, body=dumps({"spec": asked}))
                return not object_of(answer)["status"]["allowed"]

            await until(may_not_ask)
            await m.migrate("uncounted", CONFIGMAPS)
            assert conditions_of(await m.ended("uncounted")) == [COMPLETED, SUCCEEDED]
            message = (await m.said("uncounted"))["message"]
            assert message.endswith("; what is stored now is not known: the server does not tell")

    run(main())


def without_revision(obj: Obj) -> Obj:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}}


def test_every_kind_that_is_served_can_be_migrated_and_is_left_alone_if_it_is_current() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            m = Migrations(plane)
            for gvr, example in EXAMPLES:
                if gvr != STORAGE_VERSIONS:  # not served by default
                    await m.of(gvr, namespaced="namespace" in example["metadata"]).create(example)
            found = await discover(plane.client(), preferred_only=True)
            kinds = {str(one.gvr.gr): one.gvr for one in found.resources if {"list", "patch", "update"} <= one.verbs}
            for name, gvr in kinds.items():
                await m.migrate(name, gvr)
            ends = {name: conditions_of(await m.ended(name)) for name in kinds}
            assert ends == {name: [COMPLETED, SUCCEEDED] for name in kinds}
            assert len(ends) > 20
            events = (await m.of(GVR("", "v1", "events")).list("default")).items
            said = [event["message"] for event in events if event["involvedObject"]["name"] in kinds]
            assert len(said) == len(kinds)
            assert all(" 0 rewritten, " in message for message in said)

    run(main())
