"""``migrate``: ask a server for a storage version migration and show it as it runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane.apimachinery import meta
from controlplane.apimachinery.status import APIError
from controlplane.base.options import OptionGroup, option
from controlplane.client.discovery import discover
from controlplane.client.errors import ClientError
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.naming import NoSuchResource, resource_named
from controlplane.generic.command import REFUSED, UNUSABLE, load_options
from controlplane.storagemigration.following import ask, follow

__all__ = ["MigrateOptions", "migrate_command"]

INTERRUPTED = 130
"""Exit status of what SIGINT has ended, by convention."""

USAGE = """\
migrate RESOURCE [flags]     write all objects of a resource anew, in the version and under the key in which they would
                             be stored now, and show how far that is; status 1 if it fails. RESOURCE is a plural (with
                             its group, if need be: widgets.example.org) or a kind. Who stops looking does not stop it
"""


class MigrateOptions(OptionGroup):
    """How to reach the server."""

    kubeconfig: str = option("", flag="kubeconfig", description="file that says which API server, and as whom")
    context: str = option("", flag="context", description="the context in it; empty is its current one")


def migrate_command(argv: Sequence[str], *, program: str) -> int:
    """Migrate, and return the exit status."""
    name = argv[0] if argv and not argv[0].startswith("-") else ""
    loaded = load_options(MigrateOptions, argv[1:] if name else argv, program=program, usage=USAGE)
    if isinstance(loaded, int):
        return loaded
    options = loaded.options
    if not (name and options.kubeconfig):
        problem = "--kubeconfig: must be given" if name else "no RESOURCE is named"
        print(f"{program}: {problem}", file=sys.stderr)  # noqa: T201
        return REFUSED
    try:
        return asyncio.run(_migrate(options, name))
    except KeyboardInterrupt:
        print(f"{program}: the migration goes on; kubectl get storageversionmigrations shows it", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except (NoSuchResource, APIError, ClientError) as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return UNUSABLE


async def _migrate(options: MigrateOptions, name: str) -> int:
    config = await asyncio.to_thread(load_kubeconfig, Path(options.kubeconfig), context=options.context)
    async with HTTPClient(config, user_agent="controlplane/migrate") as client:
        found = await discover(client, preferred_only=True)
        migration = await ask(client, resource_named(found.resources, name).gvr.gr)
        _say(f"storageversionmigration {meta.name(migration)} created")
        ended = await follow(client, migration, _say)
    if ended.counts:
        _say(ended.counts)
    _say(f"failed: {ended.failure}" if ended.failure else "succeeded")
    return UNUSABLE if ended.failure else 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201
