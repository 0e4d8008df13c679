"""Ends tokens in secrets that came with an account by themselves and that nobody has used for a year: first they are
marked invalid, a year later the secret is deleted.

Nothing is done before uses have been recorded for that long.

Source: behaviour of kubernetes ``pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go``.
"""

from __future__ import annotations

from datetime import timedelta

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import ACCOUNTS, CONFIGMAPS, SECRETS
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.legacy_tokens.tracking import TRACKED_SINCE, day_of, read_day
from controlplane.controllers.service_account_tokens.controller import ACCOUNT_NAME, ACCOUNT_UID, TOKEN_TYPE
from controlplane.reconcile.controller import Controller, Resync, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "legacy-token-cleaner"
ACCOUNT = "legacy-service-account-token-cleaner"
PERIOD = timedelta(days=365)
ROUND_SECONDS = 24 * 3600.0
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

log = logs.get(__name__)


class LegacyTokenCleaner:
    """``reconcile`` is one round over all token secrets. What it writes holds only if nothing has changed meanwhile."""

    def __init__(self, client: APIClient, secrets: Informer, accounts: Informer, clock: Clock) -> None:
        self._clock = clock
        self._configmaps = ResourceClient(client, CONFIGMAPS, namespaced=True)
        self._secrets = ResourceClient(client, SECRETS, namespaced=True)
        self._known_secrets, self._known_accounts = secrets.store, accounts.store

    async def reconcile(self, _round: str) -> None:
        """Mark and delete what is due."""
        if not await self._tracked_long_enough():
            return
        for secret in self._known_secrets:
            await self._look_at(secret)

    async def _tracked_long_enough(self) -> bool:
        try:
            tracked = await self._configmaps.get(TRACKED_SINCE)
        except APIError as e:
            if e.reason == "NotFound":
                return False
            raise
        since = read_day((tracked.get("data") or {}).get("since") or "")
        # the day itself may have begun before the recording did
        return since is not None and (since + timedelta(days=1) + PERIOD).isoformat() <= day_of(self._clock.now())

    async def _look_at(self, secret: Obj) -> None:
        kept_from = day_of(self._clock.now() - PERIOD.total_seconds())
        labels = meta.labels(secret)
        if meta.is_being_deleted(secret) or meta.creation_timestamp(secret)[:10] >= kept_from:
            return
        used = labels.get(LAST_USED)
        if used is not None and (read_day(used) is None or used >= kept_from):
            return
        if not self._made_by_itself(secret):
            return
        invalid_since = labels.get(INVALID_SINCE)
        if invalid_since is None:
            await self._mark(secret)
        elif read_day(invalid_since) is not None and invalid_since < kept_from:
            await self._delete(secret)

    def _made_by_itself(self, secret: Obj) -> bool:
        """Whether the secret's account, and no other of its name, lists it."""
        annotations = meta.annotations(secret)
        account = self._known_accounts.get(Key(meta.namespace(secret), annotations.get(ACCOUNT_NAME) or ""))
        if account is None or meta.uid(account) != annotations.get(ACCOUNT_UID):
            return False
        return any(reference.get("name") == meta.name(secret) for reference in account.get("secrets") or ())

    async def _mark(self, secret: Obj) -> None:
        log.info("marking an unused token invalid", secret=str(meta.key_of(secret)))
        change = {
            "uid": meta.uid(secret),
            "resourceVersion": meta.resource_version(secret),
            "labels": {INVALID_SINCE: day_of(self._clock.now())},
        }
        try:
            await self._secrets.patch(meta.key_of(secret), {"metadata": change})
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):  # used or changed just now: the next round will tell
                raise

    async def _delete(self, secret: Obj) -> None:
        log.info("removing a token that has been invalid for long", secret=str(meta.key_of(secret)))
        try:
            await self._secrets.delete(
                meta.key_of(secret), uid=meta.uid(secret), resource_version=meta.resource_version(secret)
            )
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):
                raise


def build(context: ControllerContext) -> Controller[str]:
    """The controller, which makes a round a day."""
    secrets = context.informers.get(SECRETS, namespaced=True, field_selector=f"type={TOKEN_TYPE}")
    accounts = context.informers.get(ACCOUNTS, namespaced=True)
    cleaner = LegacyTokenCleaner(context.client_for(NAME), secrets, accounts, context.clock)

    def nothing(_old: Obj | None, _new: Obj | None) -> tuple[str, ...]:
        return ()

    return Controller(
        NAME,
        watches=[Watch(secrets, nothing), Watch(accounts, nothing)],
        reconcile=cleaner.reconcile,
        resync=Resync(ROUND_SECONDS, lambda: ["round"]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(CONFIGMAPS.gr, SECRETS.gr, ACCOUNTS.gr),
    account=ACCOUNT,
    rules=(
        PolicyRule(("get",), ("",), ("configmaps",), (TRACKED_SINCE.name,)),
        PolicyRule(("patch", "delete"), ("",), ("secrets",)),
    ),
)
