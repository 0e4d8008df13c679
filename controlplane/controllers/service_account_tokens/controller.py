"""Fills secrets of type ``kubernetes.io/service-account-token``, removes them when their account is gone, and takes
secrets that are gone out of their account's list.

Source: behaviour of kubernetes ``pkg/controller/serviceaccount/tokens_controller.go``.
"""

from __future__ import annotations

import base64

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import ACCOUNTS, SECRETS
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.keys import ControllerKeys
from controlplane.reconcile.controller import Controller, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "service-account-tokens"
ACCOUNT = "tokens-controller"
TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - a type, not a token
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
WORKERS = 5

log = logs.get(__name__)


class ServiceAccountTokens:
    """``reconcile`` works on one secret."""

    def __init__(
        self, client: ResourceClient, accounts: ResourceClient, secrets: Informer, keys: ControllerKeys
    ) -> None:
        self._secrets, self._accounts, self._known, self._keys = client, accounts, secrets.store, keys
        self._lost: dict[Key, tuple[Key, str | None]] = {}
        """Secrets that are gone, and the account (with its uid) that may list them."""

    async def reconcile(self, key: Key) -> None:
        """Fill the secret if its account exists, delete it if it does not; let its account forget a secret that is
        gone."""
        lost = self._lost.get(key)
        if lost is not None:
            await self._unlist(key.name, *lost)
            del self._lost[key]
        secret = self._known.get(key)
        if secret is None or meta.is_being_deleted(secret):
            return
        name = meta.annotations(secret).get(ACCOUNT_NAME)
        if not name:
            return
        account = await self._account(Key(key.namespace, name), meta.annotations(secret).get(ACCOUNT_UID))
        if account is None:
            await self._delete(key, secret)
            return
        changed = await self._filled(secret, account)
        if changed is not None:
            try:
                await self._secrets.update(changed)
            except APIError as e:
                if e.reason != "NotFound":
                    raise

    async def _account(self, key: Key, uid: str | None) -> Obj | None:
        """The account, read live: a token must not outlive it, nor be given to another of its name."""
        try:
            account = await self._accounts.get(key)
        except APIError as e:
            if e.reason == "NotFound":
                return None
            raise
        return account if not uid or meta.uid(account) == uid else None

    async def _filled(self, secret: Obj, account: Obj) -> Obj | None:
        """The secret as it should be; None if it is."""
        assert self._keys.legacy_token is not None, "the descriptor's ``usable`` was not asked"
        namespace, data = meta.namespace(secret), dict(secret.get("data") or {})
        if not data.get("namespace"):
            data["namespace"] = base64.b64encode(namespace.encode()).decode()
        if self._keys.root_ca_pem:
            data["ca.crt"] = base64.b64encode(self._keys.root_ca_pem).decode()
        if not data.get("token"):
            token = await self._keys.legacy_token(namespace, meta.name(account), meta.uid(account), meta.name(secret))
            data["token"] = base64.b64encode(token.encode()).decode()
        if data == (secret.get("data") or {}):
            return None
        annotations = {
            **meta.annotations(secret),
            ACCOUNT_NAME: meta.name(account),
            ACCOUNT_UID: meta.uid(account),
        }
        return {**secret, "metadata": {**secret["metadata"], "annotations": annotations}, "data": data}

    async def _unlist(self, secret: str, account: Key, uid: str | None) -> None:
        """Take a secret's name out of an account's list."""
        found = await self._account(account, uid)
        listed = list((found or {}).get("secrets") or ())
        kept = [reference for reference in listed if reference.get("name") != secret]
        if found is None or len(kept) == len(listed):
            return
        try:
            await self._accounts.update({**found, "secrets": kept})
        except APIError as e:
            if e.reason != "NotFound":
                raise

    async def _delete(self, key: Key, secret: Obj) -> None:
        log.info("removing the token of a service account that is gone", secret=str(key))
        try:
            await self._secrets.delete(key, uid=meta.uid(secret))
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):
                raise

    def changed(self, old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
        """The secret itself; which account may list it is remembered when it goes."""
        if old is not None and new is None:
            annotations = meta.annotations(old)
            account = Key(meta.namespace(old), annotations.get(ACCOUNT_NAME) or "")
            if account.name:
                self._lost[meta.key_of(old)] = account, annotations.get(ACCOUNT_UID)
        return own_key(old, new)

    def of_account(self, old: Obj | None, new: Obj | None) -> list[Key]:
        """The token secrets of an account that came or went."""
        obj = new if new is not None else old
        if obj is None or (new is not None and old is not None):
            return []
        namespace, name = meta.key_of(obj)
        return [
            meta.key_of(secret)
            for secret in self._known
            if meta.namespace(secret) == namespace and meta.annotations(secret).get(ACCOUNT_NAME) == name
        ]


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching token secrets and the accounts' metadata."""
    secrets = context.informers.get(SECRETS, namespaced=True, field_selector=f"type={TOKEN_TYPE}")
    accounts = context.informers.get(ACCOUNTS, namespaced=True, metadata_only=True)
    client = context.client_for(NAME)
    tokens = ServiceAccountTokens(
        ResourceClient(client, SECRETS, namespaced=True),
        ResourceClient(client, ACCOUNTS, namespaced=True),
        secrets,
        context.keys,
    )
    return Controller(
        NAME,
        watches=[Watch(secrets, tokens.changed), Watch(accounts, tokens.of_account)],
        reconcile=tokens.reconcile,
        workers=WORKERS,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(ACCOUNTS.gr, SECRETS.gr),
    usable=lambda keys: keys.legacy_token is not None,
    account=ACCOUNT,
    rules=(
        PolicyRule(("get", "list", "watch", "update", "delete"), ("",), ("secrets",)),
        PolicyRule(("get", "list", "watch", "update"), ("",), ("serviceaccounts",)),
    ),
)
