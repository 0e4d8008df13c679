"""Limits of requests at a time."""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.filters.max_in_flight import with_max_in_flight
from controlplane.apiserver.filters.metrics import INFLIGHT
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import header, request

ADMIN = UserInfo(name="admin", groups=("system:masters",))
LIST = "/api/v1/namespaces/ns/configmaps"


def test_lanes() -> None:
    async def scenario() -> None:
        go = asyncio.Event()

        async def slow(_: Request) -> Response:
            await go.wait()
            return Response(200)

        handler = with_max_in_flight(slow, reading=2, changing=1)

        async def call(made: Request) -> Response:
            return await handler(made)

        def begin(made: Request) -> asyncio.Task[Response]:
            return asyncio.get_running_loop().create_task(call(made))

        inside = [begin(request()), begin(request(LIST)), begin(request(LIST, method="POST"))]
        await asyncio.sleep(0)
        for made in (request(), request(LIST, method="POST")):
            refused = await call(made)
            assert (refused.status, header(refused, "Retry-After")) == (429, "1")
            assert refused.content() == b"Too many requests, please try again later.\n"
        exempt = [begin(request(LIST + "?watch=1")), begin(request(user=ADMIN))]
        await asyncio.sleep(0)
        assert INFLIGHT.labels_cached(("mutating",)).value == 1
        assert INFLIGHT.labels_cached(("readOnly",)).value == 3
        assert not any(task.done() for task in exempt)
        go.set()
        assert {(await task).status for task in (*inside, *exempt)} == {200}
        assert (await call(request())).status == 200, "there is room again"

    run(scenario())
