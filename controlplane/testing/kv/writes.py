"""Checks of put and delete: conditions, revisions, races, limits."""

from __future__ import annotations

import asyncio

from controlplane.storage.errors import ValueTooLarge
from controlplane.storage.kv.api import ABSENT, VALUE_LIMIT_BYTES, KeyValue
from controlplane.testing.kv.scenario import Scenario, refusal

__all__ = ["CHECKS"]


async def put_creates_an_absent_key(check: Scenario) -> None:
    before = await check.kv.revision()
    result = await check.kv.put(check.key("a"), b"1", expect=ABSENT)
    assert result.succeeded
    assert result.revision > before
    assert await check.get("a") == KeyValue(check.key("a"), b"1", result.revision, result.revision, 1, 0)


async def put_refuses_to_create_an_existing_key(check: Scenario) -> None:
    created = await check.create("a", b"1")
    stored = await check.get("a")
    result = await check.kv.put(check.key("a"), b"2", expect=ABSENT)
    assert not result.succeeded
    assert result.current == stored
    assert result.revision >= created
    assert await check.get("a") == stored, "a refused write changed the key"


async def put_replaces_at_the_expected_revision(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    again = await check.update("a", b"3", expect=updated)
    assert created < updated < again
    assert await check.get("a") == KeyValue(check.key("a"), b"3", created, again, 3, 0)


async def put_refuses_another_revision(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    for wrong in (created, updated + 1):
        result = await check.kv.put(check.key("a"), b"3", expect=wrong)
        assert not result.succeeded
        assert result.current == await check.get("a")
        assert result.current is not None
        assert result.current.value == b"2"


async def put_refuses_a_revision_of_an_absent_key(check: Scenario) -> None:
    created = await check.create("a")
    deleted = await check.remove("a", expect=created)
    for wrong in (created, deleted):
        result = await check.kv.put(check.key("a"), b"2", expect=wrong)
        assert (result.succeeded, result.current) == (False, None)
    assert await check.get("a") is None


async def put_of_the_same_value_is_a_write(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"1", expect=created)
    assert updated > created
    assert await check.get("a") == KeyValue(check.key("a"), b"1", created, updated, 2, 0)


async def put_keeps_any_bytes(check: Scenario) -> None:
    values = {b"empty": b"", b"all": bytes(range(256)), b"\x00\xff\xfe": b"\x00", b"large": bytes(1024 * 1024)}
    for suffix, value in values.items():
        assert (await check.kv.put(check.prefix + suffix, value, expect=ABSENT)).succeeded
    items = (await check.everything()).items
    assert {kv.key: kv.value for kv in items} == {check.prefix + suffix: value for suffix, value in values.items()}


async def put_refuses_a_value_over_the_limit(check: Scenario) -> None:
    created = await check.create("a", b"1")
    size = VALUE_LIMIT_BYTES + 1
    for key, expect in ((check.key("a"), created), (check.key("b"), ABSENT)):
        put = check.kv.put(key, bytes(size), expect=expect)
        error = await refusal(ValueTooLarge, put, "a value over the limit was written")
        assert (error.key, error.size_bytes, error.limit_bytes) == (key, size, VALUE_LIMIT_BYTES)
    assert [kv.value for kv in (await check.everything()).items] == [b"1"]


async def delete_returns_what_it_removed(check: Scenario) -> None:
    created = await check.create("a", b"1")
    stored = await check.get("a")
    result = await check.kv.delete(check.key("a"), expect=created)
    assert result.succeeded
    assert result.revision > created
    assert result.current == stored
    assert await check.get("a") is None


async def delete_refuses_another_revision(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    result = await check.kv.delete(check.key("a"), expect=created)
    assert not result.succeeded
    assert result.current == await check.get("a")
    assert result.revision >= updated


async def delete_of_an_absent_key_is_refused(check: Scenario) -> None:
    created = await check.create("a")
    await check.remove("a", expect=created)
    result = await check.kv.delete(check.key("a"), expect=created)
    assert (result.succeeded, result.current) == (False, None)


async def a_key_created_again_starts_afresh(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    deleted = await check.remove("a", expect=updated)
    again = await check.create("a", b"3")
    assert again > deleted
    assert await check.get("a") == KeyValue(check.key("a"), b"3", again, again, 1, 0)


async def writes_have_revisions_of_their_own(check: Scenario) -> None:
    results = await asyncio.gather(*(check.create(f"k{n:03}") for n in range(100)))
    assert len(set(results)) == 100
    assert await check.kv.revision() >= max(results)
    stored = {kv.key: kv.mod_revision for kv in (await check.everything()).items}
    assert stored == {check.key(f"k{n:03}"): revision for n, revision in enumerate(results)}


async def one_creator_wins(check: Scenario) -> None:
    values = [b"writer %d" % n for n in range(20)]
    results = await asyncio.gather(*(check.kv.put(check.key("a"), value, expect=ABSENT) for value in values))
    winners = [value for value, result in zip(values, results, strict=True) if result.succeeded]
    assert len(winners) == 1, f"{len(winners)} of two conditions that exclude each other held"
    stored = await check.get("a")
    assert stored is not None
    assert stored.value == winners[0]
    assert all(result.current == stored for result in results if not result.succeeded)


async def one_updater_or_deleter_wins(check: Scenario) -> None:
    created = await check.create("a", b"0")
    updates = [check.kv.put(check.key("a"), b"%d" % n, expect=created) for n in range(10)]
    deletes = [check.kv.delete(check.key("a"), expect=created) for _ in range(10)]
    results = await asyncio.gather(*(write for pair in zip(updates, deletes, strict=True) for write in pair))
    assert sum(result.succeeded for result in results) == 1
    winner = next(result for result in results if result.succeeded)
    stored = await check.get("a")
    assert stored is None or stored.mod_revision == winner.revision


async def no_increment_is_lost(check: Scenario) -> None:
    await check.create("counter", b"0")

    async def increment() -> None:
        current = await check.get("counter")
        while True:
            assert current is not None
            value = b"%d" % (int(current.value) + 1)
            result = await check.kv.put(check.key("counter"), value, expect=current.mod_revision)
            if result.succeeded:
                return
            current = result.current

    await asyncio.gather(*(increment() for _ in range(12)))
    counter = await check.get("counter")
    assert counter is not None
    assert (counter.value, counter.version) == (b"12", 13)


async def a_refused_create_names_what_stood_in_its_way(check: Scenario) -> None:
    """Also when that is deleted, and created again, and compacted meanwhile: condition and answer are one step."""
    done = False

    async def come_and_go() -> None:
        nonlocal done
        for _ in range(30):
            result = await check.kv.put(check.key("a"), b"1", expect=ABSENT)
            if not result.succeeded:
                assert result.current is not None, "refused to create, and nothing was there"
                result = await check.kv.delete(check.key("a"), expect=result.current.mod_revision)
                assert result.succeeded or result.current is None or result.current.mod_revision == result.revision
            await check.kv.compact(await check.kv.revision())
        done = True

    async def insist() -> None:
        while not done:
            result = await check.kv.put(check.key("a"), b"2", expect=ABSENT)
            assert result.succeeded or result.current is not None, "refused to create, and nothing was there"
            await asyncio.sleep(0)

    await asyncio.gather(come_and_go(), *(insist() for _ in range(4)))


async def a_cancelled_write_is_whole_or_absent(check: Scenario) -> None:
    writes = [asyncio.ensure_future(check.kv.put(check.key(f"k{n}"), b"v", expect=ABSENT)) for n in range(20)]
    await asyncio.sleep(0)
    for write in writes[::2]:
        write.cancel()
    results = await asyncio.gather(*writes, return_exceptions=True)
    stored = {kv.key: kv.value for kv in (await check.everything()).items}
    for n, result in enumerate(results):
        if isinstance(result, asyncio.CancelledError):
            assert stored.get(check.key(f"k{n}"), b"v") == b"v"
        else:
            assert not isinstance(result, BaseException), result
            assert stored[check.key(f"k{n}")] == b"v"
    await check.create("after")


CHECKS = (
    put_creates_an_absent_key,
    put_refuses_to_create_an_existing_key,
    put_replaces_at_the_expected_revision,
    put_refuses_another_revision,
    put_refuses_a_revision_of_an_absent_key,
    put_of_the_same_value_is_a_write,
    put_keeps_any_bytes,
    put_refuses_a_value_over_the_limit,
    delete_returns_what_it_removed,
    delete_refuses_another_revision,
    delete_of_an_absent_key_is_refused,
    a_key_created_again_starts_afresh,
    writes_have_revisions_of_their_own,
    one_creator_wins,
    one_updater_or_deleter_wins,
    no_increment_is_lost,
    a_refused_create_names_what_stood_in_its_way,
    a_cancelled_write_is_whole_or_absent,
)
