"""Create, update and delete: what is stored, what is raced, what is believed."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.identity import Key, Obj
from controlplane.storage.api import CONSISTENT, Entry, Keep
from controlplane.storage.errors import KeyExists, KeyNotFound, Unreadable, ValueTooLarge
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.faulty_kv import FaultyKV
from tests.mirrors import WIDGETS, configmap, opened, remove, set_data

A = Key("default", "a")


def test_create_stores_kube_apiservers_bytes_and_returns_the_object_with_its_revision() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            obj = configmap("a", k="v")
            obj["metadata"]["resourceVersion"] = "9"
            entry = await storage.create(A, obj)
            (kv,) = (await mirror.kv.range(storage.store_key(A), b"")).items
            assert kv.value == (
                b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}}'
            )
            assert entry.mod_revision == entry.create_revision == kv.mod_revision
            decoded = await storage.decode(entry, "v1")
            assert decoded["metadata"]["resourceVersion"] == str(kv.mod_revision)
            assert storage.served_nowait(await storage.get(A, CONSISTENT), "v1") == storage.served_nowait(entry, "v1")
            with pytest.raises(KeyExists):
                await storage.create(A, obj)

    run(main())


def test_a_written_entry_is_not_checked_again_and_a_foreign_one_is() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            await storage.create(A, configmap("a"))
            await storage.get(A, CONSISTENT)
            head = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}'
            await mirror.kv.put(storage.store_key(Key("default", "b")), head, expect=0)
            with pytest.raises(Unreadable):
                await storage.get(Key("default", "b"), CONSISTENT)
            assert mirror.statistics().decode_errors == 1

    run(main())


def test_updates_race_and_all_win_in_turn() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            await storage.create(A, configmap("a", n="0"))

            async def increment(obj: Obj, _: Entry) -> Obj:
                obj["data"]["n"] = str(int(obj["data"]["n"]) + 1)
                return obj

            await asyncio.gather(*(storage.update(A, increment, version="v1") for _ in range(30)))
            final = await storage.decode(await storage.get(A, CONSISTENT), "v1")
            assert final["data"]["n"] == "30"

    run(main())


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            made = await storage.create(A, configmap("a", k="v"))
            same = await set_data(storage, A, k="v")
            assert same.mod_revision == made.mod_revision

            async def keep(_obj: Obj, _entry: Entry) -> Keep:
                return Keep.KEEP

            assert (await storage.update(A, keep, version="v1")).mod_revision == made.mod_revision
            assert await mirror.kv.revision() == made.mod_revision

    run(main())


def test_stale_bytes_are_written_even_if_nothing_changes() -> None:
    """A value in another layout than ours is rewritten by the next update, as upstream does."""

    async def main() -> None:
        async with opened() as (mirror, storage):
            value = (
                b'{"metadata":{"namespace":"default","name":"a"},"data":{"k":"v"},"kind":"ConfigMap","apiVersion":"v1"}'
            )
            put = await mirror.kv.put(storage.store_key(A), value, expect=0)
            assert (await storage.get(A, CONSISTENT)).mod_revision == put.revision
            assert (await set_data(storage, A, k="v")).mod_revision == put.revision + 1
            assert (await set_data(storage, A, k="v")).mod_revision == put.revision + 1

    run(main())


def test_a_refusal_on_old_state_is_judged_again_on_the_stored_one() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, ours), opened(kv=kv.kv) as (_, theirs):
            await theirs.create(A, configmap("a", n="old"))
            await ours.get(A, CONSISTENT)
            kv.flow.clear()
            await set_data(theirs, A, n="new")
            seen: list[str] = []

            async def needs_new(obj: Obj, _: Entry) -> Obj:
                seen.append(obj["data"]["n"])
                if obj["data"]["n"] != "new":
                    raise ValueError("old")
                obj["data"]["n"] = "newer"
                return obj

            await ours.update(A, needs_new, version="v1")
            assert seen == ["old", "new"]

            async def never(obj: Obj, _: Entry) -> Obj:
                seen.append(obj["data"]["n"])
                raise ValueError("never")

            with pytest.raises(ValueError, match="never"):
                await ours.update(A, never, version="v1")
            assert seen == ["old", "new", "old", "newer"]
        await kv.close()

    run(main())


def test_writes_find_what_memory_does_not_know_yet() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, ours), opened(kv=kv.kv) as (_, theirs):
            kv.flow.clear()
            await theirs.create(A, configmap("a"))
            updated = await set_data(ours, A, n="ours")
            assert updated.mod_revision == 3
            same = await set_data(ours, A, n="ours")
            assert same.mod_revision == 3
            await remove(theirs, A)
            with pytest.raises(KeyNotFound):
                await set_data(ours, A, n="too late")
            with pytest.raises(KeyNotFound):
                await remove(ours, A)
        await kv.close()

    run(main())


def test_a_delete_returns_the_last_state_at_its_own_revision() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, ours), opened(kv=kv.kv) as (_, theirs):
            made = await ours.create(A, configmap("a", n="1"))
            kv.flow.clear()
            await set_data(theirs, A, n="2")
            gone = await remove(ours, A)
            last = await ours.decode(gone, "v1")
            assert last["data"] == {"n": "2"}
            assert int(last["metadata"]["resourceVersion"]) == gone.mod_revision == made.mod_revision + 2
        await kv.close()

    run(main())


def test_a_value_that_is_too_large_is_tried_once_more_without_managed_fields() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            obj = configmap("a", text="x" * 1_000_000)
            obj["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": {"f:data": "y" * 600_000}}]
            entry = await storage.create(A, obj)
            assert "managedFields" not in (await storage.decode(entry, "v1"))["metadata"]
            with pytest.raises(ValueTooLarge):
                await set_data(storage, A, text="x" * 1_600_000)
            assert (await storage.get(A, CONSISTENT)).mod_revision == entry.mod_revision

    run(main())


def test_an_unreadable_object_refuses_writes_too() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            await mirror.kv.put(storage.store_key(A), b"k8s\x00garbage", expect=0)
            for write in (set_data(storage, A, k="v"), remove(storage, A)):
                with pytest.raises(Unreadable, match="protobuf"):
                    await write

    run(main())


def test_objects_expire() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            await storage.create(A, configmap("a"), ttl_seconds=1)
            (kv,) = (await mirror.kv.range(storage.store_key(A), b"")).items
            assert kv.lease
            async with asyncio.timeout(5):
                while storage.count():
                    await mirror.fresh(mirror.revision + 1)

    run(main())


def test_versions_that_differ_by_name_are_relabelled() -> None:
    async def main() -> None:
        async with opened() as (mirror, _):
            widgets = mirror.storage(WIDGETS)
            obj = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": 1}}
            made = await widgets.create(Key("", "w"), obj)
            stored = (await mirror.kv.range(b"/registry/example.org/widgets/w", b"")).items[0].value
            assert stored.startswith(b'{"apiVersion":"example.org/v2","kind":"Widget"')
            entry = await widgets.get(Key("", "w"), CONSISTENT)
            assert widgets.key_of(entry) == Key("", "w")
            one = widgets.served_nowait(entry, "v1")
            assert one == widgets.served_nowait(made, "v1")
            assert widgets.served_nowait(entry, "v1") is one  # made once
            assert await widgets.decode(entry, "v1") == {
                **obj,
                "metadata": {"resourceVersion": str(made.mod_revision), "name": "w"},
            }
            assert (await widgets.served([entry], "v2"))[0].startswith(b'{"apiVersion":"example.org/v2"')

    run(main())
