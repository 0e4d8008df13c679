"""Lists: pages, exact revisions, selectors, unreadable objects, keys that nobody served before."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.codec.objects import encode_stored
from controlplane.apimachinery.identity import Key
from controlplane.storage.api import ANY, CONSISTENT, Freshness, ListResult, Match, Storage
from controlplane.storage.cache import Mirror
from controlplane.storage.cache.image import Budgets
from controlplane.storage.cache.ring import RingBudget
from controlplane.storage.errors import Compacted, KeyNotFound, Unreadable, UnreadableList
from controlplane.storage.objects.lists import SORTED_KEYS
from tests.aio import run
from tests.mirrors import CONFIGMAPS, EVERYTHING, WIDGETS, configmap, opened, remove, selecting, set_data

TINY = Budgets(RingBudget(max_changes=1, min_changes=0), RingBudget(max_changes=1, min_changes=0))


def names(storage: Storage, result: ListResult) -> list[str]:
    return [storage.key_of(entry).name for entry in result.entries]


async def fill(storage: Storage, count: int = 10) -> int:
    entry = None
    for n in range(count):
        labels = {"even": str(n % 2 == 0).lower()}
        entry = await storage.create(Key(f"ns-{n % 2}", f"n{n}"), configmap(f"n{n}", f"ns-{n % 2}", labels=labels))
    assert entry is not None
    return entry.mod_revision


@pytest.mark.parametrize("budgets", [pytest.param(None, id="ring"), pytest.param(TINY, id="history")])
@pytest.mark.parametrize("labels", ["", "even=true"])
def test_pages_of_one_snapshot_while_everything_changes(budgets: Budgets | None, labels: str) -> None:
    async def main() -> None:
        async with opened(budgets=budgets) as (_, storage):
            await fill(storage)
            predicate = selecting(labels)
            whole = await storage.list(None, predicate, CONSISTENT, version="v1")
            page = await storage.list(None, predicate, CONSISTENT, version="v1", limit=2)
            entries, revision, rounds = list(page.entries), page.revision, 0
            while page.continue_key is not None:
                await remove(storage, Key(f"ns-{rounds % 2}", f"n{rounds}"))
                await set_data(storage, Key("ns-1", "n9"), n=str(rounds))
                await storage.create(Key("ns-0", f"m{rounds}"), configmap(f"m{rounds}", "ns-0"))
                rounds += 1
                assert page.remaining == (None if labels else len(whole.entries) - len(entries))
                page = await storage.list(
                    None,
                    predicate,
                    Freshness(revision, Match.EXACT),
                    version="v1",
                    limit=2,
                    continue_key=page.continue_key,
                )
                assert page.revision == revision
                entries += page.entries
            assert rounds > 1
            assert page.remaining == (None if labels else 0)
            assert list(await storage.served(entries, "v1")) == list(await storage.served(whole.entries, "v1"))

    run(main())


@pytest.mark.parametrize("budgets", [pytest.param(None, id="ring"), pytest.param(TINY, id="history")])
def test_exact_revisions_are_what_they_were(budgets: Budgets | None) -> None:
    async def main() -> None:
        async with opened(budgets=budgets) as (_, storage):
            then: list[tuple[int, list[bytes]]] = []

            async def note() -> None:
                now = await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
                then.append((now.revision, list(await storage.served(now.entries, "v1"))))

            await fill(storage, 4)
            await note()
            await set_data(storage, Key("ns-0", "n0"), k="v")
            await note()
            await remove(storage, Key("ns-1", "n1"))
            await note()
            await storage.create(Key("ns-1", "n1"), configmap("n1", "ns-1"))
            await note()
            for revision, served in then:
                exact = await storage.list(None, EVERYTHING, Freshness(revision, Match.EXACT), version="v1")
                assert exact.revision == revision
                assert list(await storage.served(exact.entries, "v1")) == served

    run(main())


def test_many_changes_are_rolled_back_in_order() -> None:
    """So many that their keys are sorted in pieces."""

    async def main() -> None:
        async with opened() as (_, storage):
            await fill(storage)
            before = await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            added = [f"m{n * 7919 % 10_000:05}" for n in range(SORTED_KEYS + 100)]
            made = await asyncio.gather(*(storage.create(Key("ns-0", n), configmap(n, "ns-0")) for n in added))
            for n in range(0, 10, 3):
                await remove(storage, Key(f"ns-{n % 2}", f"n{n}"))
            rolled_back = await storage.list(None, EVERYTHING, Freshness(before.revision, Match.EXACT), version="v1")
            assert list(rolled_back.entries) == list(before.entries)
            middle = sorted(entry.mod_revision for entry in made)[-50]
            then = await storage.list(None, EVERYTHING, Freshness(middle, Match.EXACT), version="v1")
            assert len(then.entries) == len(before.entries) + len(added) - 49
            assert [entry.key for entry in then.entries] == sorted(entry.key for entry in then.entries)

    run(main())


def test_a_compacted_exact_revision_is_gone() -> None:
    async def main() -> None:
        async with opened(budgets=TINY) as (mirror, storage):
            revision = await fill(storage)
            await mirror.kv.compact(revision - 1)
            with pytest.raises(Compacted):
                await storage.list(None, EVERYTHING, Freshness(revision - 2, Match.EXACT), version="v1")

    run(main())


def test_selectors_namespaces_and_names() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            await fill(storage)
            one = await storage.list("ns-1", EVERYTHING, ANY, version="v1")
            assert names(storage, one) == ["n1", "n3", "n5", "n7", "n9"]
            named = await storage.list("ns-1", selecting(fields="metadata.name=n3"), CONSISTENT, version="v1")
            assert names(storage, named) == ["n3"]
            anywhere = await storage.list(None, selecting(fields="metadata.name=n3"), CONSISTENT, version="v1")
            assert names(storage, anywhere) == ["n3"]
            absent = await storage.list("ns-0", selecting(fields="metadata.name=n3"), CONSISTENT, version="v1")
            assert names(storage, absent) == []
            both = selecting("even=false", "metadata.name!=n3")
            assert names(storage, await storage.list(None, both, ANY, version="v1", limit=2)) == ["n1", "n5"]
            assert storage.count() == 10

    run(main())


def test_a_namespace_is_not_a_prefix_of_another() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            for namespace in ("a", "a-b", "ab"):
                await storage.create(Key(namespace, "x"), configmap("x", namespace))
            result = await storage.list("a", EVERYTHING, CONSISTENT, version="v1")
            assert [storage.key_of(entry) for entry in result.entries] == [Key("a", "x")]
            with pytest.raises(KeyNotFound):
                await storage.get(Key("a", "y"), CONSISTENT)

    run(main())


def test_unreadable_objects_fail_the_lists_they_are_in_and_no_other() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            await fill(storage)
            for name in ("bad1", "bad2"):
                await mirror.kv.put(storage.store_key(Key("ns-0", name)), b"garbage", expect=0)
            with pytest.raises(UnreadableList) as error:
                await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            assert [part.key for part in error.value.parts] == [
                b"/registry/configmaps/ns-0/bad1",
                b"/registry/configmaps/ns-0/bad2",
            ]
            assert "(and 1 more)" in error.value.why
            with pytest.raises(Unreadable):
                await storage.get(Key("ns-0", "bad1"), CONSISTENT)
            assert len((await storage.list("ns-1", EVERYTHING, CONSISTENT, version="v1")).entries) == 5
            good = encode_stored(configmap("bad1", "ns-0"), CONFIGMAPS.gvk("v1"))
            for name in ("bad1", "bad2"):
                key = storage.store_key(Key("ns-0", name))
                (kv,) = (await mirror.kv.range(key, b"")).items
                await mirror.kv.put(key, good, expect=kv.mod_revision)
            assert len((await storage.list(None, EVERYTHING, CONSISTENT, version="v1")).entries) == 12

    run(main())


def test_keys_nobody_serves_are_kept_raw_until_somebody_does() -> None:
    async def main() -> None:
        async with opened() as (mirror, _):
            for n in range(3):
                value = encode_stored(
                    {"metadata": {"name": f"w{n}"}, "spec": {"n": n}}, WIDGETS.gvk("v2"), native=False
                )
                await mirror.kv.put(b"/registry/example.org/widgets/w%d" % n, value, expect=0)
            await mirror.fresh(None)
            (raw, *_) = mirror.scan(b"/registry/example.org/widgets/")
            assert raw.origin.unread
            widgets = mirror.storage(WIDGETS)
            assert widgets.count() == 3
            result = await widgets.list(None, EVERYTHING, CONSISTENT, version="v2")
            assert names(widgets, result) == ["w0", "w1", "w2"]
            assert b'"resourceVersion":"2"' in (await widgets.served(result.entries, "v2"))[0]
            before = await widgets.list(None, EVERYTHING, Freshness(3, Match.EXACT), version="v2")
            assert names(widgets, before) == ["w0", "w1"]
            again = mirror.storage(WIDGETS)
            assert (await again.get(Key("", "w1"), CONSISTENT)).mod_revision == 3

    run(main())


def test_a_resource_served_before_the_start_is_read_while_loading() -> None:
    async def main() -> None:
        async with opened() as (first, storage):
            await fill(storage)
            late = Mirror(first.kv)
            await late.start()
            assert late.storage(CONFIGMAPS).count() == 10
            await late.close()

    run(main())
