"""Encryption at rest as part of a server: opened before the store is read, checked, and followed if it may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.apimachinery.server_identity import ENCRYPTION_HASH_ANNOTATION
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext
from controlplane.apiserver.server.server import Server
from controlplane.generic.config import CompletedConfig
from controlplane.generic.identity import identity_of

if TYPE_CHECKING:
    from controlplane.storage.encryption.encryption import Encryption

__all__ = ["add_encryption", "open_encryption"]

CHECK = "kms-providers"
RELOAD_HOOK = "start-encryption-provider-config-automatic-reload"
"""Upstream's names."""


async def open_encryption(config: CompletedConfig, port: int) -> Encryption | None:
    """What the configuration's file says; None where there is none. ``port``: where the server listens.

    Its hash is shown with the server's identity lease, so that whoever rotates keys sees what is in force where.

    Raises:
        ConfigurationError: it cannot be used.
    """
    if not config.encryption_config_file:
        return None
    from controlplane.storage.encryption.encryption import Encryption  # late: few servers have one

    encryption = Encryption(
        config.encryption_config_file,
        reload=config.encryption_reload,
        server_id=identity_of(config, port).id,
        clock=config.clock,
        in_force=lambda digest: config.identity.lease_annotations.set(ENCRYPTION_HASH_ANNOTATION, digest),
    )
    try:
        await encryption.start()
    except ConfigurationError as error:
        raise ConfigurationError(f"--encryption-provider-config: {error}") from error
    return encryption


def add_encryption(server: Server, config: CompletedConfig, encryption: Encryption | None) -> None:
    """Let a server check its KMS plugins, and follow the file."""
    if encryption is None:
        return
    if (probe := encryption.health()) is not None:
        server.add_health_check(HealthCheck(CHECK, probe))

    async def follow(context: HookContext) -> None:
        context.start(encryption.follow(), name="encryption-configuration")

    if config.encryption_reload:
        server.hooks.add_post_start(RELOAD_HOOK, follow, by=__name__)
