"""``rotate-keys``: one command from the first new key to the removal of the old one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation.names import dns1123_label
from controlplane.apiserver.options import StorageOptions, kv_options, store_url
from controlplane.base.clock import SystemClock
from controlplane.base.options import Duration, OptionGroup, group, option
from controlplane.client.errors import ClientError
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.generic.command import REFUSED, UNUSABLE, load_options
from controlplane.generic.rotation.migrating import MigrationFailed
from controlplane.generic.rotation.rotation import Rotation, RotationFailed, Store
from controlplane.storage.errors import StorageError

__all__ = ["RotateOptions", "rotate_command"]

USAGE = """\
rotate-keys [flags]    a new key in place of those that objects are encrypted under (--encryption-provider-config):
                       add it, promote it, migrate what is stored, verify the raw store, remove the old keys. Waits for
                       all servers at each step; started again, it goes on where it was
"""


class RotateOptions(OptionGroup):
    """Which configuration, on which servers, over which store."""

    storage: StorageOptions = group(StorageOptions)
    kubeconfig: str = option("", flag="kubeconfig", description="file that says which API server, and as whom")
    context: str = option("", flag="context", description="the context in it; empty is its current one")
    key_name: str = option(
        "", flag="key-name", description="name of the new key; empty is one made of the time, key-20261130-150000"
    )
    wait: Duration = option(
        600.0, flag="wait", ge=1, description="how long to wait for the servers to take up a changed configuration"
    )


def rotate_command(argv: Sequence[str], *, program: str) -> int:
    """Rotate; returns the exit status."""
    loaded = load_options(RotateOptions, argv, program=program, usage=USAGE)
    if isinstance(loaded, int):
        return loaded
    options = loaded.options
    if problem := _problem(options):
        print(f"{program}: {problem}", file=sys.stderr)  # noqa: T201
        return REFUSED
    try:
        asyncio.run(_rotate(options))
    except (RotationFailed, MigrationFailed, StorageError, APIError, ClientError) as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    return 0


def _problem(options: RotateOptions) -> str:
    if not options.storage.encryption_provider_config:
        return "--encryption-provider-config: must be given"
    if not options.kubeconfig:
        return "--kubeconfig: must be given"
    store = store_url(options.storage, default="")
    if not store:
        return "--store or --etcd-servers: must be given, since the raw store is read before the old key is removed"
    if store == "memory:":
        return "--store: memory: is gone with its server; there is nothing to rotate"
    if options.key_name and (whys := dns1123_label(options.key_name)):
        return f"--key-name: {options.key_name!r}: {whys[0]}"
    return ""


async def _rotate(options: RotateOptions) -> None:
    config = await asyncio.to_thread(load_kubeconfig, Path(options.kubeconfig), context=options.context)
    storage = options.storage
    store = Store(store_url(storage, default=""), kv_options(storage), f"/{storage.etcd_prefix.strip('/')}/".encode())
    async with HTTPClient(config, user_agent="controlplane/rotate-keys") as client:
        await Rotation(
            client,
            Path(storage.encryption_provider_config),
            store,
            key_name=options.key_name or datetime.now(UTC).strftime("key-%Y%m%d-%H%M%S"),
            clock=SystemClock(),
            say=lambda line: print(line, flush=True),  # noqa: T201  # what the command is for
            wait_seconds=options.wait,
        ).run()
