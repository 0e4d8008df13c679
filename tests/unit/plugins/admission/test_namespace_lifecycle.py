from typing import Any

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.storage.api import ANY, Entry, Freshness
from controlplane.storage.errors import KeyNotFound
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"


def test_a_create_in_a_missing_namespace_is_404_of_the_namespace() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("POST", CONFIG_MAPS.format("none"), {"metadata": {"name": "Bad Name"}})
            assert (answer.status, answer.message) == (404, 'namespaces "none" not found')
            assert answer.body["details"] == {"name": "none", "kind": "namespaces"}

    run(scenario())


def test_a_create_in_a_terminating_namespace_is_403_with_a_cause_but_changes_and_deletes_go_on() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("ns")
            await plane.config_map("a")
            await plane.call("DELETE", "/api/v1/namespaces/ns")
            answer = await plane.call("POST", CONFIG_MAPS.format("ns"), {"metadata": {"name": "b"}})
            assert answer.status == 403
            assert answer.message == (
                'configmaps "b" is forbidden: '
                "unable to create new content in namespace ns because it is being terminated"
            )
            assert answer.body["details"]["causes"] == [
                {
                    "reason": "NamespaceTerminating",
                    "message": "namespace ns is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            changed = await plane.call("PUT", CONFIG_MAPS.format("ns") + "/a", {"metadata": {"name": "a"}})
            assert changed.status == 200
            assert (await plane.call("DELETE", CONFIG_MAPS.format("ns") + "/a")).status == 200

    run(scenario())


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_the_immortal_namespaces_may_not_be_deleted(name: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace(name)
            answer = await plane.call("DELETE", f"/api/v1/namespaces/{name}")
            assert (answer.status, answer.message) == (
                403,
                f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            )

    run(scenario())


class Behind:
    """A namespace storage whose memory lags: reads that may be old see what ``stale`` says (None: nothing yet)."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self.stale: Entry | None = None
        self.lagging = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def get(self, key: Key, fresh: Freshness) -> Entry:
        if fresh != ANY or not self.lagging:
            entry: Entry = await self._storage.get(key, fresh)
            return entry
        if self.stale is None:
            raise KeyNotFound(b"")
        return self.stale

    def revision_nowait(self, key: Key) -> int:
        if not self.lagging:
            revision: int = self._storage.revision_nowait(key)
            return revision
        return self.stale.mod_revision if self.stale is not None else 0


def plane_with_lag(lags: list[Behind]) -> Any:
    def wrap(storage: Any) -> Any:
        lags.append(Behind(storage))
        return lags[-1]

    return running_plane(wrap=wrap)


def test_a_namespace_that_memory_does_not_know_yet_is_looked_up_in_the_store() -> None:
    async def scenario() -> None:
        lags: list[Behind] = []
        async with plane_with_lag(lags) as plane:
            await plane.namespace("ns")
            lags[0].lagging = True
            await plane.config_map("a")

    run(scenario())


async def _delete_behind(plane: Plane, lag: Behind) -> None:
    """Delete the namespace while memory goes on showing it alive."""
    await plane.namespace("ns")
    lag.stale = await lag.get(Key("", "ns"), ANY)
    await plane.call("DELETE", "/api/v1/namespaces/ns")
    lag.lagging = True


def test_a_namespace_deleted_here_a_moment_ago_is_not_taken_for_alive() -> None:
    async def scenario() -> None:
        lags: list[Behind] = []
        async with plane_with_lag(lags) as plane:
            await _delete_behind(plane, lags[0])
            answer = await plane.call("POST", CONFIG_MAPS.format("ns"), {"metadata": {"name": "b"}})
            assert answer.status == 403

    run(scenario())


def test_where_no_namespaces_are_kept_any_will_do() -> None:
    async def scenario() -> None:
        async with running_plane((CONFIGMAPS,)) as plane:
            await plane.config_map("a", namespace="anywhere")

    run(scenario())
