import pytest

from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apiserver.registry.table import ResourceTable, TableHolder, build_table
from controlplane.apiserver.registry.versions import version_order
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.kv.backends import open_kv
from tests.aio import run


def resource(group: str, plural: str, *versions: str, served: tuple[str, ...] = ()) -> Resource:
    return Resource(
        group=group,
        plural=plural,
        singular=plural[:-1],
        kind=plural[:-1].title(),
        namespaced=True,
        versions=tuple(ResourceVersion(name=v, schema={}, served=not served or v in served) for v in versions),
        storage_version=versions[0],
        key_prefix=f"{group}/{plural}",
    )


def table(*resources: Resource, priorities: dict[str, int] | None = None) -> ResourceTable:
    async def build() -> ResourceTable:
        kv = await open_kv("memory:")
        mirror = Mirror(kv)
        built = build_table(((r, mirror.storage(r)) for r in resources), group_priorities=priorities)
        await kv.close()
        return built

    return run(build())


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    names = ["foo10", "v1alpha1", "v1", "v10", "v2beta1", "foo1", "v11alpha2", "v1beta2", "v0"]
    assert sorted(names, key=version_order) == [
        "v10",
        "v1",
        "v2beta1",
        "v1beta2",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
        "v0",
    ]


def test_a_resource_is_found_in_each_version_it_is_served_in() -> None:
    built = table(resource("a.io", "widgets", "v1", "v1beta1", "v1alpha1", served=("v1", "v1beta1")))
    assert built.lookup("a.io", "v1beta1", "widgets") is not None
    assert built.lookup("a.io", "v1alpha1", "widgets") is None
    assert built.lookup("a.io", "v1", "gadgets") is None


def test_groups_come_by_priority_and_then_by_name_and_versions_by_preference() -> None:
    built = table(
        resource("b.io", "widgets", "v1beta1"),
        resource("b.io", "gadgets", "v1"),
        resource("a.io", "widgets", "v1"),
        resource("z.io", "widgets", "v1"),
        priorities={"z.io": 2000},
    )
    assert [group.name for group in built.groups] == ["z.io", "a.io", "b.io"]
    assert [version.name for version in built.groups[2].versions] == ["v1", "v1beta1"]


def test_two_resources_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="served twice"):
        table(resource("a.io", "widgets", "v1"), resource("a.io", "widgets", "v1"))


def test_a_holder_tells_its_subscribers_of_each_new_table_until_they_leave() -> None:
    holder = TableHolder()
    told: list[ResourceTable] = []
    leave = holder.subscribe(told.append)
    first, second = ResourceTable(), ResourceTable()
    holder.swap(first)
    leave()
    holder.swap(second)
    assert told == [first]
    assert holder.current is second
    assert holder.complete
