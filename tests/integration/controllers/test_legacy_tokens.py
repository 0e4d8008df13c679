"""Tokens in secrets: since when their use is recorded, and how those that nobody uses end."""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.base.clock import SystemClock
from controlplane.base.tasks import TaskGroup
from controlplane.client.resources import ResourceClient
from controlplane.controllers.legacy_tokens.cleaner import INVALID_SINCE, LAST_USED, LegacyTokenCleaner
from controlplane.controllers.legacy_tokens.tracking import TRACKED_SINCE, day_of
from controlplane.reconcile.informer import Informer
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, found, until

ACCOUNTS = GVR("", "v1", "serviceaccounts")
SECRETS = GVR("", "v1", "secrets")
DAY = 24 * 3600.0


class LaterClock(SystemClock):
    """The machine's clock, some days ahead."""

    def __init__(self, days: float) -> None:
        self._seconds = days * DAY

    def now(self) -> float:
        return super().now() + self._seconds


async def token_secret(o: Objects, name: str, *, listed: bool = True, labels: dict[str, str] | None = None) -> None:
    """A token secret and its account, which lists it if it came with the account."""
    metadata: dict[str, Any] = {"namespace": "default", "name": name}
    account: Obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    if listed:
        account["secrets"] = [{"name": name}]
    uid = meta.uid(await o.of(ACCOUNTS).create(account))
    annotations = {"kubernetes.io/service-account.name": name, "kubernetes.io/service-account.uid": uid}
    await o.of(SECRETS).create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**metadata, "annotations": annotations, "labels": labels or {}},
            "type": "kubernetes.io/service-account-token",
        }
    )


async def secrets(o: Objects) -> dict[str, Obj]:
    return {meta.name(s): s for s in (await o.of(SECRETS).list("default")).items}


async def clean(plane: Plane, days: float) -> None:
    """One round, so many days from now."""
    client = plane.client()
    token_secrets = Informer(ResourceClient(client, SECRETS, namespaced=True))
    accounts = Informer(ResourceClient(client, ACCOUNTS, namespaced=True))
    async with TaskGroup("informers") as group:
        for informer in (token_secrets, accounts):
            group.start(informer.run(), name=informer.name)
            await informer.synced.wait()
        await LegacyTokenCleaner(client, token_secrets, accounts, LaterClock(days)).reconcile("round")


def test_the_day_is_published_and_kept_readable() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            configmaps = Objects(plane).configmaps
            today = {"since": day_of(SystemClock().now())}

            async def published() -> bool:
                obj = await found(configmaps.get(TRACKED_SINCE))
                return obj is not None and obj["data"] == today

            await until(published)
            await configmaps.patch(TRACKED_SINCE, {"data": {"since": "long ago"}})
            await until(published)
            await configmaps.delete(TRACKED_SINCE)
            await until(published)

    run(main())


def test_an_unused_token_is_marked_after_a_year_and_removed_after_another() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            o = Objects(plane)

            async def tracked() -> bool:
                return await found(o.configmaps.get(TRACKED_SINCE)) is not None

            await until(tracked)
            await token_secret(o, "unused")
            await token_secret(o, "made-by-hand", listed=False)
            await token_secret(o, "used", labels={LAST_USED: day_of(LaterClock(200).now())})
            await clean(plane, 364)
            assert not any(INVALID_SINCE in meta.labels(s) for s in (await secrets(o)).values()), "not yet"
            await clean(plane, 367)
            marked = {name for name, s in (await secrets(o)).items() if INVALID_SINCE in meta.labels(s)}
            assert marked == {"unused"}
            await clean(plane, 367 + 364)
            assert set(await secrets(o)) == {"unused", "made-by-hand", "used"}, "not yet"
            await clean(plane, 367 + 367)
            assert set(await secrets(o)) == {"made-by-hand", "used"}
            assert INVALID_SINCE in meta.labels((await secrets(o))["used"]), "not used for a year by now"

    run(main())


def test_a_token_of_another_account_of_that_name_is_kept() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            o = Objects(plane)

            async def tracked() -> bool:
                return await found(o.configmaps.get(TRACKED_SINCE)) is not None

            await until(tracked)
            await token_secret(o, "robot")
            change = {"metadata": {"annotations": {"kubernetes.io/service-account.uid": "another"}}}
            await o.of(SECRETS).patch(Key("default", "robot"), change)
            await clean(plane, 400)
            kept = (await secrets(o)).get("robot")
            assert kept is None or INVALID_SINCE not in meta.labels(kept)

    run(main())
