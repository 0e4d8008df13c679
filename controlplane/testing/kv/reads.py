"""Checks of range, revision and status: order, bounds, snapshots, pages."""

from __future__ import annotations

from controlplane.storage.errors import FutureRevision
from controlplane.storage.kv.api import ABSENT, KeyValue, RangeResult, prefix_end
from controlplane.testing.kv.scenario import Scenario, refusal

__all__ = ["CHECKS"]


def names(check: Scenario, result: RangeResult) -> list[str]:
    return [kv.key.removeprefix(check.prefix).decode() for kv in result.items]


async def range_is_half_open_and_ordered_by_bytes(check: Scenario) -> None:
    for name in ("b", "a/2", "c", "a", "B", "a/10", "a0", "é"):
        await check.create(name)
    assert names(check, await check.everything()) == ["B", "a", "a/10", "a/2", "a0", "b", "c", "é"]
    cut = await check.kv.range(check.key("a"), check.key("b"))
    assert names(check, cut) == ["a", "a/10", "a/2", "a0"]
    assert (cut.more, cut.total) == (False, 4)
    assert names(check, await check.kv.range(check.key("a/"), prefix_end(check.key("a/")))) == ["a/10", "a/2"]


async def range_without_end_is_one_key(check: Scenario) -> None:
    await check.create("a")
    await check.create("ab")
    assert names(check, await check.kv.range(check.key("a"), b"")) == ["a"]
    nothing = await check.kv.range(check.key("b"), b"")
    assert (nothing.items, nothing.more, nothing.total) == ([], False, 0)
    assert nothing.revision >= await check.kv.revision()


async def range_to_the_end_has_the_last_key(check: Scenario) -> None:
    await check.create("a")
    last = b"\xff\xff" + check.prefix
    assert (await check.kv.put(last, b"last", expect=ABSENT)).succeeded
    result = await check.kv.range(check.prefix, prefix_end(b""))
    keys = [kv.key for kv in result.items]
    assert check.key("a") in keys
    assert last in keys
    assert keys == sorted(keys)
    beyond = await check.kv.range(last, prefix_end(b"\xff"))
    assert [kv.value for kv in beyond.items if kv.key == last] == [b"last"]


async def prefix_end_is_the_first_key_after_the_prefix(_: Scenario) -> None:
    assert prefix_end(b"/a/") == b"/a0"
    assert prefix_end(b"a\xff") == b"b"
    assert prefix_end(b"a\xff\xff") == b"b"
    assert prefix_end(b"\xff") == b"\x00"
    assert prefix_end(b"") == b"\x00"


async def range_limits_and_counts(check: Scenario) -> None:
    for n in range(5):
        await check.create(f"k{n}")
    cut = await check.everything(limit=2)
    assert (names(check, cut), cut.more, cut.total) == (["k0", "k1"], True, 5)
    exact = await check.everything(limit=5)
    assert (names(check, exact), exact.more, exact.total) == (["k0", "k1", "k2", "k3", "k4"], False, 5)
    counted = await check.kv.range(check.prefix, prefix_end(check.prefix), count_only=True)
    assert (counted.items, counted.total) == ([], 5)
    assert counted.revision >= cut.revision


async def range_reads_the_past(check: Scenario) -> None:
    a1 = await check.create("a", b"a1")
    b1 = await check.create("b", b"b1")
    a2 = await check.update("a", b"a2", expect=a1)
    gone = await check.remove("b", expect=b1)
    b2 = await check.create("b", b"b2")
    key_a, key_b = check.key("a"), check.key("b")
    first_a, second_a = KeyValue(key_a, b"a1", a1, a1, 1), KeyValue(key_a, b"a2", a1, a2, 2)
    expected = {
        a1: [first_a],
        b1: [first_a, KeyValue(key_b, b"b1", b1, b1, 1)],
        a2: [second_a, KeyValue(key_b, b"b1", b1, b1, 1)],
        gone: [second_a],
        b2: [second_a, KeyValue(key_b, b"b2", b2, b2, 1)],
    }
    for revision, items in expected.items():
        result = await check.everything(revision=revision)
        assert result.items == items, f"at revision {revision}"
        assert result.total == len(items)
        assert result.revision >= b2, "the result's revision is the store's, not the snapshot's"
        counted = await check.kv.range(check.prefix, prefix_end(check.prefix), revision=revision, count_only=True)
        assert counted.total == len(items)
    assert await check.get("b", revision=gone) is None
    assert await check.get("a", revision=b1) == first_a


async def pages_of_one_revision_are_one_snapshot(check: Scenario) -> None:
    revisions = {f"k{n:02}": await check.create(f"k{n:02}", b"old") for n in range(10)}
    first = await check.everything(limit=4)
    snapshot = first.revision
    await check.update("k07", b"new", expect=revisions["k07"])
    await check.remove("k08", expect=revisions["k08"])
    await check.create("k055", b"new")
    items = list(first.items)
    more = first.more
    while more:
        start = items[-1].key + b"\x00"
        page = await check.kv.range(start, prefix_end(check.prefix), revision=snapshot, limit=4)
        assert page.total == 10 - len(items)
        items += page.items
        more = page.more
    assert [kv.key for kv in items] == [check.key(name) for name in revisions]
    assert {kv.value for kv in items} == {b"old"}


async def a_future_revision_is_refused(check: Scenario) -> None:
    await check.create("a")
    ahead = await check.kv.revision() + 1_000_000
    for start, end in ((check.prefix, prefix_end(check.prefix)), (check.key("a"), b"")):
        read = check.kv.range(start, end, revision=ahead)
        error = await refusal(FutureRevision, read, "a revision that is not written yet was read")
        assert error.requested == ahead


async def revision_covers_every_answered_write(check: Scenario) -> None:
    for n in range(20):
        written = await check.create(f"k{n}")
        nowait = check.kv.revision_nowait()
        assert nowait is None or nowait >= written
        assert await check.kv.revision() >= written
        assert (await check.everything()).revision >= written


async def status_names_the_data(check: Scenario) -> None:
    written = await check.create("a", bytes(10_000))
    status = await check.kv.status()
    assert status.cluster_id
    assert status.version
    assert status.revision >= written
    assert 0 <= status.compacted_revision <= status.revision
    assert status.db_size_bytes >= 0
    assert (await check.kv.status()).cluster_id == status.cluster_id


CHECKS = (
    range_is_half_open_and_ordered_by_bytes,
    range_without_end_is_one_key,
    range_to_the_end_has_the_last_key,
    prefix_end_is_the_first_key_after_the_prefix,
    range_limits_and_counts,
    range_reads_the_past,
    pages_of_one_revision_are_one_snapshot,
    a_future_revision_is_refused,
    revision_covers_every_answered_write,
    status_names_the_data,
)
