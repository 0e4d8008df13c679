"""What the store has of a namespace and the table does not serve."""

from __future__ import annotations

import pytest

from controlplane.apiserver.registry.table import TableHolder, build_table
from controlplane.apiserver.registry.unserved import left_behind
from controlplane.storage.cache import Mirror
from controlplane.storage.kv.api import ABSENT
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.mirrors import CONFIGMAPS


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["configmaps/shop/a"], {}, id="what is served"),
        pytest.param(["pods/shop/a", "pods/shop/b", "pods/other/a"], {"pods": 2}, id="a native kind"),
        pytest.param(["b.example.org/gadgets/shop/a"], {"b.example.org/gadgets": 1}, id="a kind of a group"),
        pytest.param(["services/specs/shop/a"], {"services/specs": 1}, id="a native kind one folder deeper"),
        pytest.param(["b.example.org/shop/a"], {}, id="cluster-wide, of a resource of that name"),
        pytest.param(["namespaces/shop", "nodes/shop", "peerserverleases/shop"], {}, id="objects of that name"),
        pytest.param(["controlplane/keys"], {}, id="the server's own keys"),
        pytest.param(
            ["a/shop/x", "configmaps/shop/a", "secrets/shop/y", "zebras/shop/z"],
            {"a": 1, "secrets": 1, "zebras": 1},
            id="before and after what is served",
        ),
    ],
)
def test_by_keys(keys: list[str], found: dict[str, int]) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        mirror = Mirror(kv)
        try:
            for key in keys:
                await kv.put(f"/registry/{key}".encode(), b"{}", expect=ABSENT)
            await mirror.start()
            table = build_table([(CONFIGMAPS, mirror.storage(CONFIGMAPS))])
            assert dict(await left_behind(mirror, TableHolder(table))("shop")) == found
        finally:
            await mirror.close()
            await kv.close()

    run(main())
