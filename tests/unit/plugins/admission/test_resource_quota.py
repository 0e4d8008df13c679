import asyncio
from typing import Any

import pytest

from controlplane.plugins.admission.api import PluginConfigurationError
from tests.aio import run
from tests.unit.apiserver.plane import Answer, Plane, running_plane

QUOTAS = "/api/v1/namespaces/ns/resourcequotas"
CONFIG_MAPS = "/api/v1/namespaces/ns/configmaps"


async def quota(plane: Plane, hard: dict[str, str], used: dict[str, str], name: str = "q", **spec: Any) -> None:
    """A quota as the counting controller leaves it."""
    made = await plane.call("POST", QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
    assert made.status == 201, made.body
    body = {**made.body, "status": {"hard": hard, "used": used}}
    assert (await plane.call("PUT", f"{QUOTAS}/{name}/status", body)).status == 200


async def used(plane: Plane) -> Any:
    return (await plane.call("GET", f"{QUOTAS}/q")).body["status"]["used"]


async def create(plane: Plane, name: str, query: str = "") -> Answer:
    return await plane.call("POST", CONFIG_MAPS + query, {"metadata": {"name": name}})


def test_creations_at_once_are_all_counted_and_none_is_let_through_beyond_the_bound() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await quota(
                plane, {"count/configmaps": "5", "configmaps": "100"}, {"count/configmaps": "0", "configmaps": "0"}
            )
            answers = await asyncio.gather(*(create(plane, f"c{i}") for i in range(12)))
            assert sorted(answer.status for answer in answers) == [201] * 5 + [403] * 7
            assert await used(plane) == {"count/configmaps": "5", "configmaps": "5"}

    run(scenario())


def test_a_dry_run_is_refused_like_any_other_and_charges_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await quota(plane, {"configmaps": "1"}, {"configmaps": "0"})
            assert (await create(plane, "a", "?dryRun=All")).status == 201
            assert await used(plane) == {"configmaps": "0"}
            assert (await create(plane, "a")).status == 201
            refused = await create(plane, "b", "?dryRun=All")
            assert refused.status == 403
            assert refused.message == (
                'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: '
                "configmaps=1"
            )

    run(scenario())


def test_what_has_not_been_counted_yet_is_refused() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await quota(plane, {"configmaps": "1", "secrets": "1"}, {"secrets": "0"})
            refused = await create(plane, "a")
            assert refused.message == 'configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps'

    run(scenario())


def test_that_something_has_not_been_counted_comes_before_what_another_quota_does_not_allow() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await quota(plane, {"configmaps": "0"}, {"configmaps": "0"}, name="a")
            await quota(plane, {"count/configmaps": "9"}, {}, name="b")
            refused = await create(plane, "x")
            assert (
                refused.message
                == 'configmaps "x" is forbidden: status unknown for quota: b, resources: count/configmaps'
            )

    run(scenario())


def test_a_quota_of_a_scope_and_changes_and_deletions_count_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await quota(plane, {"pods": "0"}, {"pods": "0"}, scopes=["BestEffort"])
            assert (await create(plane, "a")).status == 201
            body = {"metadata": {"name": "a"}, "data": {"k": "v"}}
            assert (await plane.call("PUT", f"{CONFIG_MAPS}/a", body)).status == 200
            assert (await plane.call("DELETE", f"{CONFIG_MAPS}/a")).status == 200
            assert await used(plane) == {"pods": "0"}

    run(scenario())


def test_a_limited_resource_needs_a_quota_that_covers_it() -> None:
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "ResourceQuotaConfiguration",
        "limitedResources": [{"resource": "configmaps", "matchContains": ["count/"]}],
    }

    async def scenario() -> None:
        async with running_plane(configurations={"ResourceQuota": configuration}) as plane:
            await plane.namespace("ns")
            refused = await create(plane, "a")
            assert refused.message == 'configmaps "a" is forbidden: insufficient quota to consume: count/configmaps'
            await quota(plane, {"count/configmaps": "1"}, {"count/configmaps": "0"})
            assert (await create(plane, "a")).status == 201

    run(scenario())


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        pytest.param({"kind": "Other", "apiVersion": "v1"}, "must be ResourceQuotaConfiguration", id="kind"),
        pytest.param(
            {
                "kind": "ResourceQuotaConfiguration",
                "apiVersion": "apiserver.config.k8s.io/v1",
                "limitedResources": [{"resource": "pods", "matchScopes": []}],
            },
            'unknown field "limitedResources\\[0\\].matchScopes"',
            id="scopes",
        ),
        pytest.param(
            {
                "kind": "ResourceQuotaConfiguration",
                "apiVersion": "apiserver.config.k8s.io/v1",
                "limitedResources": [{"matchContains": ["count/"]}],
            },
            "limitedResources\\[0\\].resource: Required value",
            id="no-resource",
        ),
    ],
)
def test_a_configuration_that_means_nothing_here_is_refused(configuration: dict[str, Any], message: str) -> None:
    async def scenario() -> None:
        async with running_plane(configurations={"ResourceQuota": configuration}):
            pass

    with pytest.raises(PluginConfigurationError, match=message):
        run(scenario())
