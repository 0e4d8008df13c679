"""The drain gate: who is counted, who is refused, who passes."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.filters.drain import DrainGate, with_drain_gate, with_retry_after
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import ALICE, answering, header, request


def test_drained_once_the_last_has_its_answer() -> None:
    async def scenario() -> None:
        gate, go = DrainGate(), asyncio.Event()

        async def slow(_: Request) -> Response:
            await go.wait()
            return Response(200)

        handler = with_drain_gate(slow, gate=gate)

        async def call() -> Response:
            return await handler(request())

        tasks = [asyncio.get_running_loop().create_task(call()) for _ in range(2)]
        await asyncio.sleep(0)
        assert gate.inside == 2
        gate.close()
        waiting = asyncio.get_running_loop().create_task(gate.drained())
        await asyncio.sleep(0)
        assert not waiting.done()
        go.set()
        await waiting
        assert [task.result().status for task in tasks] == [200, 200]

    run(scenario())


def test_gate_counts_failures_too() -> None:
    async def scenario() -> None:
        gate = DrainGate()

        async def failing(_: Request) -> Response:
            raise APIError(418, "", "")

        with pytest.raises(APIError):
            await with_drain_gate(failing, gate=gate)(request())
        gate.close()
        await gate.drained()

    run(scenario())


def test_closed_gate_refuses_with_a_status() -> None:
    async def scenario() -> APIError:
        gate = DrainGate()
        gate.close()
        with pytest.raises(APIError) as caught:
            await with_drain_gate(answering(), gate=gate)(request())
        return caught.value

    error = run(scenario())
    assert (error.code, error.message, error.retry_after_seconds) == (503, "apiserver is shutting down", 1)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(request("/readyz"), id="health"),
        pytest.param(request("/livez/ping"), id="one check"),
        pytest.param(request("/metrics"), id="metrics"),
        pytest.param(request(identity=ALICE), id="loopback"),
        pytest.param(request("/api/v1/configmaps?watch=1"), id="watch"),
    ],
)
def test_who_passes_a_closed_gate(made: Request) -> None:
    async def scenario() -> Response:
        gate = DrainGate()
        gate.close()
        return await with_drain_gate(answering(), gate=gate)(made)

    assert run(scenario()).status == 200


def test_retry_after_while_draining() -> None:
    async def scenario() -> list[Response]:
        gate = DrainGate()
        handler = with_retry_after(answering(), gate=gate, enabled=True)
        before = await handler(request())
        gate.close()
        return [before, await handler(request()), await handler(request("/healthz"))]

    before, refused, health = run(scenario())
    assert (before.status, health.status) == (200, 200)
    assert (refused.status, header(refused, "Retry-After"), header(refused, "Connection")) == (429, "5", "close")
    assert refused.content() == b"The apiserver is shutting down, please try again later.\n"


def test_no_filter_where_it_is_off() -> None:
    handler = answering()
    assert with_retry_after(handler, gate=DrainGate(), enabled=False) is handler
