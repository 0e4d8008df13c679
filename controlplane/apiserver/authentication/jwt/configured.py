"""The token issuers of an AuthenticationConfiguration that changes while the server runs.

A changed file is read, validated and put in force whole; one that cannot be used changes nothing, is logged and counted
once, and is looked at again when it changes again.

Source: kubernetes' ``pkg/controlplane/apiserver`` (the reload of the authentication configuration).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.jwt import metrics
from controlplane.apiserver.authentication.jwt.authenticator import JWTTokens
from controlplane.apiserver.authentication.jwt.config import AuthenticationConfiguration, JWTConfig
from controlplane.apiserver.authentication.jwt.reading import ConfigurationError, parse_configuration
from controlplane.apiserver.authentication.jwt.validation import validate_configuration
from controlplane.base import logs
from controlplane.base.clock import Clock

__all__ = ["ConfiguredIssuers", "ReadConfiguration", "follow_file", "read_configuration"]

log = logs.get(__name__)

LOOK_SECONDS = 60.0
"""How often the file is looked at, as upstream."""

ReadConfiguration = tuple[AuthenticationConfiguration, bytes]


def read_configuration(file: str, disallowed_issuers: Collection[str]) -> ReadConfiguration:
    """Read and validate a file: the configuration and the bytes that it is from. Blocks.

    Raises:
        ConfigurationError.
    """
    try:
        content = Path(file).read_bytes()
        configuration = parse_configuration(content)
    except OSError as error:
        raise ConfigurationError(f"--authentication-config: {file}: {error.strerror or error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"--authentication-config: {file}: {error}") from error
    problems = list(dict.fromkeys(map(str, validate_configuration(configuration, disallowed_issuers))))
    if problems:
        listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ConfigurationError(f"--authentication-config: {file}: {listed}")
    return configuration, content


class ConfiguredIssuers:
    """See ``tokens.PlainTokens``."""

    def __init__(self, configs: Collection[JWTConfig], *, clock: Clock) -> None:
        self._clock = clock
        self._issuers = tuple(JWTTokens(config, clock=clock) for config in configs)

    async def user_of(self, token: str) -> UserInfo | None:
        """The user; None: a token of none of the issuers. Raises BadCredentials."""
        for issuer in self._issuers:
            user = await issuer.user_of(token)
            if user is not None:
                return user
        return None

    async def replace(self, configs: Collection[JWTConfig]) -> None:
        """Believe other issuers from now on; who is being asked just now may still answer."""
        old, self._issuers = self._issuers, tuple(JWTTokens(config, clock=self._clock) for config in configs)
        for issuer in old:
            await issuer.close()

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        for issuer in self._issuers:
            await issuer.close()


async def follow_file(
    file: str,
    disallowed_issuers: Collection[str],
    issuers: ConfiguredIssuers,
    known: ReadConfiguration,
    *,
    clock: Clock,
    changed: Callable[[], None],
) -> None:
    """Take up what changes in the file; runs until cancelled: an owned task. ``changed``: others decide now."""
    (configuration, content), seen = known, known[1]
    while True:
        await clock.sleep(LOOK_SECONDS)
        try:
            now = await asyncio.to_thread(Path(file).read_bytes)
            if now == seen:
                continue
            seen = now
            read, content = await asyncio.to_thread(read_configuration, file, disallowed_issuers)
            if read.anonymous != configuration.anonymous:
                raise ConfigurationError("anonymous cannot be changed while the server runs: restart it")
        except (OSError, ConfigurationError) as error:
            metrics.record_reload(None, clock.now())
            log.warning("authentication configuration cannot be used; the old one stays in force", error=error)
            continue
        configuration = read
        await issuers.replace(read.jwt)
        changed()
        metrics.record_reload(content, clock.now())
        log.info("authentication configuration reloaded", file=file, issuers=len(read.jwt))
