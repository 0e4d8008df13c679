"""A table with changes shares what did not change."""

from __future__ import annotations

from dataclasses import replace

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.resource import Resource
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apiserver.registry.table import Served, build_table
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.kv.backends import open_kv
from tests.aio import run

FOOS: Resource = replace(
    LEASES, group="a.example.com", plural="foos", kind="Foo", key_prefix="a.example.com/foos", native=False
)


def test_resources_come_change_and_go() -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        mirror = Mirror(kv)

        def served(resource: Resource) -> Served:
            return Served(resource, resource.versions[0], mirror.storage(resource))

        natives = [(resource, mirror.storage(resource)) for resource in (CONFIGMAPS, LEASES)]
        table = build_table(natives, group_priorities={"": 10_000})
        foos = served(FOOS)
        with_foos = table.with_changes({FOOS.gr: [foos]})
        assert [group.name for group in with_foos.groups] == ["", "a.example.com", "coordination.k8s.io"]
        assert with_foos.lookup("a.example.com", "v1", "foos") is foos
        assert with_foos.lookup("", "v1", "configmaps") is table.lookup("", "v1", "configmaps")
        assert table.group("a.example.com") is None
        second = served(replace(FOOS, plural="bars", key_prefix="a.example.com/bars"))
        both = with_foos.with_changes({second.gr: [second]})
        group = both.group("a.example.com")
        assert group is not None
        assert (list(group.versions[0].resources), group.is_custom) == (["bars", "foos"], True)
        again = both.with_changes({FOOS.gr: [], second.gr: []})
        assert [group.name for group in again.groups] == ["", "coordination.k8s.io"]
        assert again.storage_of("a.example.com", "foos") is None
        assert table.with_changes({GroupResource("x", "nothing"): []}).groups == table.groups
        await kv.close()

    run(main())
