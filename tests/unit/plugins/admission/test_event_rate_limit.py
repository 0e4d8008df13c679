from typing import Any

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.plugins.admission import event_rate_limit
from controlplane.plugins.admission.api import PluginConfigurationError
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.plane import PLUGINS, Plane, running_plane

EVENTS = "/api/v1/namespaces/ns/events"
LIMITED = (*PLUGINS, event_rate_limit.PLUGIN)


def limits(*given: dict[str, Any]) -> dict[str, Any]:
    configuration = {
        "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "limits": list(given),
    }
    return {"EventRateLimit": configuration}


async def send(plane: Plane, name: str, about: str = "ns", user: str = "a") -> int:
    body = {"metadata": {"name": name}, "involvedObject": {"kind": "Namespace", "name": about, "namespace": "ns"}}
    return (await plane.call("POST", EVENTS, body, user=UserInfo(name=user))).status


def test_a_bucket_empties_and_fills_again() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        limit = limits({"type": "Server", "qps": 1, "burst": 2})
        async with running_plane(plugins=LIMITED, configurations=limit, clock=clock) as plane:
            await plane.namespace("ns")
            assert [await send(plane, f"e{i}") for i in range(3)] == [201, 201, 429]
            await clock.advance(1.0)
            assert [await send(plane, f"f{i}") for i in range(2)] == [201, 429]

    run(scenario())


def test_the_answer_says_which_limit_and_dry_runs_pay_nothing() -> None:
    async def scenario() -> None:
        limit = limits({"type": "User", "qps": 1, "burst": 1}, {"type": "Server", "qps": 1, "burst": 1})
        async with running_plane(plugins=LIMITED, configurations=limit, clock=FakeClock()) as plane:
            await plane.namespace("ns")
            body = {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Namespace", "name": "ns", "namespace": "ns"},
            }
            for _ in range(3):
                assert (await plane.call("POST", f"{EVENTS}?dryRun=All", body)).status == 201
            assert await send(plane, "one") == 201
            refused = await plane.call("POST", EVENTS, body, user=UserInfo(name="b"))
            assert refused.body == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Too many requests: limit reached on type Server for key ",
                "reason": "TooManyRequests",
                "code": 429,
            }

    run(scenario())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("User", [201, 429, 201, 429], id="user"),
        pytest.param("SourceAndObject", [201, 201, 429, 429], id="object"),
        pytest.param("Namespace", [201, 429, 429, 429], id="namespace"),
    ],
)
def test_each_key_has_a_bucket_of_its_own(kind: str, expected: list[int]) -> None:
    async def scenario() -> None:
        limit = limits({"type": kind, "qps": 1, "burst": 1})
        async with running_plane(plugins=LIMITED, configurations=limit, clock=FakeClock()) as plane:
            await plane.namespace("ns")
            asked = [("x", "a"), ("y", "a"), ("x", "b"), ("x", "a")]
            assert [await send(plane, f"e{i}", about, user) for i, (about, user) in enumerate(asked)] == expected

    run(scenario())


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        pytest.param({}, "needs a Configuration of eventratelimit.admission.k8s.io/v1alpha1", id="none"),
        pytest.param(limits(), "limits: Invalid value: \\[\\]: must not be empty", id="empty"),
        pytest.param(
            limits({"type": "Planet", "qps": 1, "burst": 1}),
            'limits\\[0\\].type: Unsupported value: "Planet"',
            id="type",
        ),
        pytest.param(
            limits({"type": "Server", "qps": 0, "burst": 1}),
            "limits\\[0\\].qps: Invalid value: 0: must be positive",
            id="qps",
        ),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(configuration: dict[str, Any], message: str) -> None:
    async def scenario() -> None:
        async with running_plane(plugins=LIMITED, configurations=configuration):
            pass

    with pytest.raises(PluginConfigurationError, match=message):
        run(scenario())
