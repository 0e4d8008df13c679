"""Rehearse an upgrade: servers of differing versions and resources on one store, in one process.

    async with fleet({"a": old, "b": old, "c": old}) as servers:
        async with under_load(servers, kinds) as load:
            await servers.roll(new)
            await servers.roll(old)
        load.check()

``docs/rehearsing-upgrades.md`` is the guide.
"""

from controlplane.testing.fleet.balancer import Balancer
from controlplane.testing.fleet.load import Load, LoadedKind, load_with, under_load
from controlplane.testing.fleet.servers import Fleet, fleet

__all__ = ["Balancer", "Fleet", "Load", "LoadedKind", "fleet", "load_with", "under_load"]
