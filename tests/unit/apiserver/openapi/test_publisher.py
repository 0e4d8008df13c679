from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

from controlplane.apimachinery.resource import DeferredVersion, Resource
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.openapi.dialect import Encoding
from controlplane.apiserver.openapi.publisher import Published, Publisher
from controlplane.apiserver.registry.table import TableHolder, build_table
from controlplane.storage.cache.mirror import Mirror
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.openapi.published import PRODUCT, WIDGET_SCHEMA, serving, widgets

KEY = "apis/shop.example.com/v1"
KINDS = 60
"""So many that a build takes several slices of time."""


def zoo(changed: int | None = None, generation: str = "1") -> tuple[Resource, ...]:
    """Custom resources of one group; one may be of another generation."""
    return (*BUILTIN, *(animal(index, generation if index == changed else "1") for index in range(KINDS)))


def animal(index: int, generation: str) -> Resource:
    return widgets(
        {**WIDGET_SCHEMA, "title": f"{index}-{generation}"},
        plural=f"animal{index}s",
        singular=f"animal{index}",
        kind=f"Animal{index}",
        key_prefix=f"shop.example.com/animal{index}s",
        generation=generation,
    )


def swap(tables: TableHolder, mirror: Mirror, resources: tuple[Resource, ...]) -> None:
    tables.swap(build_table((resource, mirror.storage(resource)) for resource in resources))


def make(tables: TableHolder) -> Publisher:
    return Publisher(tables, PRODUCT, FakeClock())


def test_the_root_builds_nothing() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, _):
            published = make(tables)
            root = json.loads(b"".join((await published.root()).body))
            assert KEY in root["paths"]
            assert published._fragments == {}

    run(scenario())


def test_one_build_serves_all_who_ask_at_once() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, _):
            published = make(tables)
            wholes = await asyncio.gather(*(published.swagger() for _ in range(50)))
            assert len({id(whole) for whole in wholes}) == 1
            parts = await asyncio.gather(*(published.document(KEY) for _ in range(50)))
            assert len({id(part) for part in parts}) == 1

    run(scenario())


def test_the_schemas_of_custom_kinds_are_parsed_beside_the_loop() -> None:
    """To parse one of half a megabyte held it for 16 ms."""
    threads: list[int] = []

    def load() -> dict[str, Any]:
        threads.append(threading.get_ident())
        return WIDGET_SCHEMA

    async def scenario() -> None:
        deferred = DeferredVersion(name="v1", load_schema=load)
        async with serving(*BUILTIN, replace(widgets(), versions=(deferred,))) as (tables, _, _):
            published = make(tables)
            for encoding in Encoding:
                threads.clear()
                document = await published.document(KEY, encoding)
                assert document is not None
                assert b"A widget." in b"".join(document.body)
                await published.swagger(encoding)
                assert len(threads) == 2
                assert threading.get_ident() not in threads

    run(scenario())


def test_others_run_while_a_document_is_built() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, _):
            building = asyncio.ensure_future(make(tables).swagger(Encoding.PROTOBUF))
            turns = 0
            while not building.done():
                turns += 1
                await asyncio.sleep(0)
            assert turns > 3

    run(scenario())


def test_who_goes_away_does_not_take_the_build_from_others() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, _):
            published = make(tables)
            first, *others = [asyncio.ensure_future(published.swagger()) for _ in range(3)]
            for _ in range(10_000):
                if published._fragments:
                    break
                await asyncio.sleep(0)
            begun = dict(published._fragments)
            assert 0 < len(begun) < KINDS
            first.cancel()
            one, same = await asyncio.gather(*others)
            assert first.cancelled()
            assert one is same
            assert all(published._fragments[key] is fragment for key, fragment in begun.items())

    run(scenario())


def test_a_change_rebuilds_what_has_changed_alone() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, mirror):
            published = make(tables)
            core, before = await published.document("api/v1"), await published.swagger()
            fragments = dict(published._fragments)
            swap(tables, mirror, zoo(changed=7, generation="2"))
            after = await published.swagger()
            assert after.digest != before.digest
            assert b'"title":"7-2"' in b"".join(after.body)
            fresh = [key for key, value in published._fragments.items() if fragments.get(key) is not value]
            assert len(fresh) == 1
            assert await published.document("api/v1") is core

    run(scenario())


def test_an_equal_table_rebuilds_nothing() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, mirror):
            published = make(tables)
            before = await published.swagger(), await published.document(KEY), await published.root()
            swap(tables, mirror, zoo())
            after = await published.swagger(), await published.document(KEY), await published.root()
            assert all(one is other for one, other in zip(before, after, strict=True))

    run(scenario())


def test_what_is_gone_is_in_no_document_and_not_kept() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, mirror):
            published = make(tables)
            for encoding in Encoding:
                assert await published.document(KEY, encoding) is not None
                await published.swagger(encoding)
            swap(tables, mirror, BUILTIN)
            assert await published.document(KEY) is None
            assert b"nimal" not in b"".join((await published.root()).body)
            assert b"nimal" not in b"".join((await published.swagger()).body)
            assert len(published._fragments) <= 2 * len(Encoding) * len(BUILTIN)
            assert not any(key == KEY for key, _ in published._documents)

    run(scenario())


def test_a_document_has_every_change_that_came_before_the_question() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, mirror):
            published = make(tables)
            generation = 1

            async def asking() -> None:
                for _ in range(4):
                    asked = generation
                    body = b"".join((await published.swagger()).body)
                    assert int(body.split(b'"title":"7-')[1].split(b'"')[0]) >= asked

            async def changing() -> None:
                nonlocal generation
                for number in range(2, 32):
                    swap(tables, mirror, zoo(changed=7, generation=str(number)))
                    generation = number
                    await asyncio.sleep(0)

            await asyncio.gather(changing(), *(asking() for _ in range(20)))

    run(scenario())


def test_json_and_protobuf_of_one_table_have_one_digest() -> None:
    async def scenario() -> None:
        async with serving(*zoo()) as (tables, _, _):
            published = make(tables)
            plain, encoded = await published.swagger(), await published.swagger(Encoding.PROTOBUF)
            assert plain.digest == encoded.digest
            assert b"".join(plain.body) != b"".join(encoded.body)

    run(scenario())


def test_the_generation_of_a_custom_resource_stands_for_its_schema() -> None:
    (first,) = widgets().versions
    other = replace(widgets(), versions=(replace(first, schema={"type": "object"}),))

    async def scenario() -> None:
        async with serving(widgets()) as (tables, _, mirror):
            published = make(tables)
            before = (await published.root()).digest
            swap(tables, mirror, (other,))
            assert (await published.root()).digest == before
            swap(tables, mirror, (replace(other, generation="2"),))
            assert (await published.root()).digest != before

    run(scenario())


def test_many_clients_while_everything_changes_share_one_build_at_a_time() -> None:
    """50 clients ask for the merged document all the time while 200 definitions change."""
    building = most = built = 0

    class Counting(Publisher):
        async def _build_swagger(self, encoding: Encoding) -> Published:
            nonlocal building, most, built
            building, built = building + 1, built + 1
            most = max(most, building)
            try:
                return await super()._build_swagger(encoding)
            finally:
                building -= 1

    async def scenario() -> None:
        kinds = 8  # 200 definitions change, these in turn
        async with serving(*(animal(index, "1") for index in range(kinds))) as (tables, _, mirror):
            published = Counting(tables, PRODUCT, FakeClock())
            answers: list[str] = []
            done = False

            async def client() -> None:
                while not done:
                    answers.append((await published.swagger()).digest)
                    await asyncio.sleep(0)

            clients = [asyncio.ensure_future(client()) for _ in range(50)]
            generations = ["1"] * kinds
            for change in range(200):
                generations[change % kinds] = str(change + 2)
                swap(tables, mirror, tuple(animal(index, one) for index, one in enumerate(generations)))
                await asyncio.sleep(0)
            done = True
            await asyncio.gather(*clients)
            assert most == 1
            assert built <= 201  # however many ask
            assert len(answers) >= 50
            last = await published.swagger()
            assert b'"title":"7-201"' in b"".join(last.body)
            # nothing of what is no longer served is kept
            live = published._plan.resource_digests() if published._plan is not None else set()
            assert {digest for _, _, digest in published._fragments} <= live
            assert len(published._swaggers) == 1

    run(scenario())
