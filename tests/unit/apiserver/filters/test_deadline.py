"""The request deadline: its own, the client's, what is exempt, and whose cancellation it was."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.filters.deadline import with_deadline
from controlplane.apiserver.filters.durations import parse_duration
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request


async def forever(_: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


def refused(path: str, seconds: float) -> APIError:
    async def scenario() -> APIError:
        with pytest.raises(APIError) as caught:
            await with_deadline(forever, seconds=seconds)(request(path))
        return caught.value

    return run(scenario())


@pytest.mark.parametrize(
    ("path", "seconds"),
    [
        pytest.param("/api/v1/namespaces/ns/configmaps/a", 0.02, id="the server's"),
        pytest.param("/api/v1/namespaces/ns/configmaps/a?timeout=20ms", 60.0, id="the client's"),
        pytest.param("/version?timeout=0s", 0.02, id="none asked for"),
        pytest.param("/version?timeout=1h", 0.02, id="longer than the server's"),
    ],
)
def test_deadline_is_kept(path: str, seconds: float) -> None:
    error = refused(path, seconds)
    assert (error.code, error.reason) == (504, "Timeout")
    assert error.message == "Timeout: request did not complete within the allotted timeout"


def test_timeout_that_is_none() -> None:
    error = refused("/version?timeout=soon", 60.0)
    assert error.code == 400
    assert error.message == 'invalid timeout specified in the request URL - time: invalid duration "soon"'


def test_quick_requests_and_their_deadline() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        handler = with_deadline(answering(seen=seen), seconds=60.0)
        for path in ("/version", "/version?timeout=5s"):
            assert (await handler(request(path))).status == 200
        deadlines = [one.deadline - one.received_at for one in seen if one.deadline is not None]
        assert deadlines == [pytest.approx(60.0), pytest.approx(5.0)]

    run(scenario())


def test_watches_have_none() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        handler = with_deadline(answering(seen=seen), seconds=60.0)
        await handler(request("/api/v1/namespaces/ns/configmaps?watch=true&timeout=soon"))
        assert seen[0].deadline is None

    run(scenario())


def test_many_at_once_each_at_its_time() -> None:
    async def scenario() -> None:
        handler = with_deadline(forever, seconds=0.05)
        loop = asyncio.get_running_loop()

        async def one(after: float) -> float:
            await asyncio.sleep(after)
            began = loop.time()
            with pytest.raises(APIError):
                await handler(request())
            return loop.time() - began

        took = await asyncio.gather(*(one(n * 0.01) for n in range(10)))
        assert all(0.045 <= seconds < 0.5 for seconds in took), took

    run(scenario())


def test_cancellation_from_outside_stays_one() -> None:
    async def scenario() -> None:
        task = asyncio.get_running_loop().create_task(_as_coroutine())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def _as_coroutine() -> None:
        await with_deadline(forever, seconds=60.0)(request())

    run(scenario())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30.0), ("1m30s", 90.0), ("1.5h", 5400.0), ("500ms", 0.5), ("0", 0.0), ("-1s", -1.0), (".5s", 0.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", 'time: invalid duration "soon"'),
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("5s5", 'time: missing unit in duration "5s5"'),
        ("s", 'time: invalid duration "s"'),
    ],
)
def test_what_is_no_duration(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="duration") as caught:
        parse_duration(text)
    assert str(caught.value) == why
