"""Tokens that others know: issuers and a webhook, as a completed config names them.

What they say is remembered for a short time; what service accounts and the token file say is not, since that is asked
in this process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from controlplane.apiserver.authentication.api import Audiences, TokenAuthenticator
from controlplane.apiserver.authentication.jwt.config import Anonymous, AuthenticationConfiguration
from controlplane.apiserver.authentication.jwt.metrics import record_config
from controlplane.apiserver.authentication.jwt.reading import ConfigurationError
from controlplane.apiserver.authentication.token_cache import CachedTokens
from controlplane.apiserver.authentication.tokens import ForOwnAudiences
from controlplane.apiserver.authentication.webhook import TokenWebhook
from controlplane.base.tls.context import TLSFilesError, read_pool
from controlplane.base.values import dataclass
from controlplane.client.config import ClientConfig
from controlplane.client.errors import KubeconfigError
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.generic.config import CompletedConfig
from controlplane.generic.starting import given_by

if TYPE_CHECKING:
    from controlplane.apiserver.authentication.jwt.configured import ConfiguredIssuers, ReadConfiguration

__all__ = ["RemoteConfiguration", "RemoteTokens", "read_remote_configuration"]

ISSUERS_CACHE_SECONDS = 10.0
"""How long what issuers' tokens say is remembered, as upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteConfiguration:
    """What was read from files. ``file``: the configuration in it, and its bytes; None: there is no such file."""

    file: ReadConfiguration | None
    oidc: AuthenticationConfiguration | None
    webhook: ClientConfig | None

    @property
    def issuers(self) -> AuthenticationConfiguration | None:
        return self.file[0] if self.file is not None else self.oidc

    def anonymous(self, config: CompletedConfig) -> Anonymous:
        """Which anonymous requests are allowed."""
        said = self.file[0].anonymous if self.file is not None else None
        return said or Anonymous(enabled=config.anonymous is not False)


def read_remote_configuration(config: CompletedConfig) -> RemoteConfiguration:
    """Read the files. Blocks.

    Raises:
        ConfigurationError, StartError: one cannot be used; the message names it.
    """
    file, oidc = None, None
    if config.authentication_config_file:
        from controlplane.apiserver.authentication.jwt.configured import read_configuration

        file = read_configuration(config.authentication_config_file, config.service_accounts.issuers)
        if file[0].anonymous is not None and config.anonymous is not None:
            raise ConfigurationError(
                f"--anonymous-auth and anonymous in {config.authentication_config_file} exclude each other"
            )
    if config.oidc is not None:
        issuer = config.oidc.issuer
        if config.oidc_ca_file:
            with given_by("--oidc-ca-file", TLSFilesError):
                authority = read_pool(config.oidc_ca_file).decode("ascii", errors="replace")
            issuer = replace(issuer, certificate_authority=authority)
        oidc = AuthenticationConfiguration(jwt=(replace(config.oidc, issuer=issuer),))
    webhook = None
    if config.token_webhook is not None:
        with given_by("--authentication-token-webhook-config-file", KubeconfigError):
            webhook = load_kubeconfig(Path(config.token_webhook.file))
    return RemoteConfiguration(file=file, oidc=oidc, webhook=webhook)


class RemoteTokens:
    """``authenticators``, in order. Close them."""

    def __init__(self, config: CompletedConfig, read: RemoteConfiguration, audiences: Audiences) -> None:
        self._config, self._read = config, read
        self.authenticators: list[TokenAuthenticator] = []
        self._closes: list[TokenWebhook | ConfiguredIssuers] = []
        self._issuers: ConfiguredIssuers | None = None
        if read.issuers is not None:
            from controlplane.apiserver.authentication.jwt.configured import ConfiguredIssuers  # late: few have any

            self._issuers = ConfiguredIssuers(read.issuers.jwt, clock=config.clock)
            self._cache = CachedTokens(
                ForOwnAudiences(self._issuers, audiences), success_seconds=ISSUERS_CACHE_SECONDS, clock=config.clock
            )
            self.authenticators.append(self._cache)
            self._closes.append(self._issuers)
        if read.webhook is not None and config.token_webhook is not None:
            said = config.token_webhook
            webhook = TokenWebhook(read.webhook, version=said.version, own_audiences=audiences, clock=config.clock)
            seconds = said.cache_seconds
            self.authenticators.append(
                CachedTokens(webhook, success_seconds=seconds, failure_seconds=seconds, clock=config.clock)
            )
            self._closes.append(webhook)
        if read.file is not None:
            record_config(read.file[1])

    @property
    def follows_file(self) -> bool:
        return self._read.file is not None

    async def follow(self) -> None:
        """Take up changes of the configuration's file; runs until cancelled: an owned task."""
        from controlplane.apiserver.authentication.jwt.configured import follow_file

        issuers, file = self._issuers, self._read.file
        assert issuers is not None
        assert file is not None
        changed: Callable[[], None] = self._cache.forget
        await follow_file(
            self._config.authentication_config_file,
            self._config.service_accounts.issuers,
            issuers,
            file,
            clock=self._config.clock,
            changed=changed,
        )

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        for one in self._closes:
            await one.close()
