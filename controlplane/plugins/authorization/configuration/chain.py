"""The chain of an AuthorizationConfiguration that changes while the server runs.

A changed file is read, validated and put in force whole; one that cannot be used changes nothing, is logged and counted
once, and is looked at again when it changes again. Only webhooks may come, go and change: what other authorizers need
(roles, their bootstrap) is settled at the start.

Source: kubernetes ``pkg/kubeapiserver/authorizer/reload.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.jwt.reading import ConfigurationError
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision
from controlplane.apiserver.authorization.rules import Rules
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.config import ClientConfig
from controlplane.client.errors import KubeconfigError
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.plugins.authorization.configuration.reading import ReadAuthorizers, read_authorizers
from controlplane.plugins.authorization.webhook.authorizer import WebhookAuthorizer
from controlplane.plugins.authorization.webhook.config import AuthorizerConfig
from controlplane.plugins.authorization.webhook.metrics import record_reload

__all__ = ["WEBHOOK", "Configured", "ConfiguredAuthorizers", "Makers", "with_clients"]

log = logs.get(__name__)

LOOK_SECONDS = 60.0
"""How often the file is looked at, as upstream."""
WEBHOOK = "Webhook"

Makers = dict[str, Callable[[], Authorizer]]
"""How an authorizer of each type but webhooks is made."""


Configured = tuple[AuthorizerConfig, ClientConfig | None]
"""An authorizer, and where it is if it is a webhook."""


def with_clients(configs: Sequence[AuthorizerConfig]) -> list[Configured]:
    """Read the kubeconfigs of webhooks. Blocks.

    Raises:
        KubeconfigError.
    """
    return [
        (config, load_kubeconfig(Path(config.webhook.kubeconfig_file)) if config.webhook is not None else None)
        for config in configs
    ]


def _types(configured: Sequence[Configured]) -> frozenset[str]:
    """Of those that are no webhooks."""
    return frozenset(config.type for config, _ in configured) - {WEBHOOK}


class ConfiguredAuthorizers:
    """See ``Authorizer``, ``AllowsAll`` and ``RuleResolver``. ``first``: asked before the configured ones."""

    def __init__(
        self,
        first: Sequence[tuple[str, Authorizer]],
        configured: Sequence[Configured],
        makers: Makers,
        *,
        clock: Clock,
    ) -> None:
        self._first, self._makers, self._clock = list(first), makers, clock
        self._webhooks: list[WebhookAuthorizer] = []
        self._types = _types(configured)
        self._union = self._built(configured)

    def allows_all(self, user: UserInfo) -> bool:
        return self._union.allows_all(user)

    def authorize(self, attributes: Attributes) -> Coroutine[Any, Any, tuple[Decision, str]]:
        return self._union.authorize(attributes)

    async def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return await self._union.rules_for(user, namespace)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        while self._webhooks:
            await self._webhooks.pop().close()

    async def follow(self, file: str, known: ReadAuthorizers) -> None:
        """Take up what changes in the file; runs until cancelled: an owned task."""
        seen = known[1]
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                now = await asyncio.to_thread(Path(file).read_bytes)
                if now == seen:
                    continue
                seen = now
                configs, content = await asyncio.to_thread(read_authorizers, file, (*self._makers, WEBHOOK))
                configured = await asyncio.to_thread(with_clients, configs)
                self._check(configured)
            except (OSError, ConfigurationError, KubeconfigError) as error:
                record_reload(None, self._clock.now())
                log.warning("authorization configuration cannot be used; the old one stays in force", error=error)
                continue
            old, self._webhooks = self._webhooks, []
            self._union = self._built(configured)
            for webhook in old:
                await webhook.close()
            record_reload(content, self._clock.now())
            log.info("authorization configuration reloaded", file=file, authorizers=len(configured))

    def _check(self, configured: Sequence[Configured]) -> None:
        after = _types(configured)
        if after != self._types:
            changed = ", ".join(sorted(after ^ self._types))
            raise ConfigurationError(f"only webhooks may come and go while the server runs: restart it for {changed}")

    def _built(self, configured: Sequence[Configured]) -> UnionAuthorizer:
        chain = [*self._first]
        for config, client in configured:
            if config.webhook is None or client is None:
                chain.append((config.name, self._makers[config.type]()))
                continue
            webhook = WebhookAuthorizer(config.webhook, client, name=config.name, clock=self._clock)
            self._webhooks.append(webhook)
            chain.append((config.name, webhook))
        return UnionAuthorizer(chain, {config.name: config.type for config, _ in configured})
