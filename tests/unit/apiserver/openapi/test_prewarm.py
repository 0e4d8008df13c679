"""Building ahead: after a quiet moment, never in the middle of changes."""

from __future__ import annotations

import asyncio

from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.openapi.prewarm import QUIET_SECONDS, keep_warm
from controlplane.client.request import Request
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.openapi.published import PRODUCT, serving, widgets
from tests.unit.apiserver.openapi.test_publisher import swap

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class Watched(OpenAPI):
    """Tells when it has been built ahead."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]  # as they come
        self.built = asyncio.Event()

    async def prewarm(self) -> None:
        await super().prewarm()
        self.built.set()


def test_documents_are_built_once_nothing_changes() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with serving(widgets()) as (tables, _, mirror):
            openapi = Watched(tables, product=PRODUCT, clock=clock)
            others = list(tables._subscribers)
            task = asyncio.ensure_future(keep_warm(openapi, tables, clock))
            for generation in ("1", "2", "3"):  # each change puts it off
                await clock.advance(QUIET_SECONDS * 0.75)
                swap(tables, mirror, (widgets(generation=generation),))
                assert not openapi.built.is_set()
            await clock.advance(QUIET_SECONDS)
            await clock.advance(QUIET_SECONDS)
            await openapi.built.wait()
            publisher = openapi._made()
            (kept,) = publisher._swaggers.values()
            assert await publisher.swagger() is kept
            openapi.built.clear()
            await openapi.swagger(Request("GET", "/openapi/v2", headers={"Accept": V2_PROTOBUF}))
            swap(tables, mirror, (widgets(generation="4"),))
            await clock.advance(QUIET_SECONDS)
            await openapi.built.wait()
            assert [encoding.name for encoding in publisher._swaggers] == ["PROTOBUF"]  # what is asked for
            task.cancel()
            await asyncio.wait([task])
            assert tables._subscribers == others

    run(scenario())
