"""Requests are counted under kube-apiserver's names, by operation and resource."""

from __future__ import annotations

import pytest
from grpc import StatusCode  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.base.metrics import render
from controlplane.storage.cache import Mirror
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import CountsRequests
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.kv.etcd.metrics import DURATION, ERRORS, REQUESTS
from tests.aio import run
from tests.mirrors import CONFIGMAPS, WIDGETS
from tests.unit.storage.kv.etcd.scripted import Scripted, scripted

CASES = (
    ("create", "", "configmaps"),
    ("update", "example.org", "widgets"),
    ("delete", "", "configmaps"),
    ("get", "example.org", "widgets"),
    ("list", "", "configmaps"),
    ("get", "", ""),
)


def counts() -> dict[tuple[str, ...], tuple[float, float, float]]:
    return {
        labels: (
            REQUESTS.labels_cached(labels).value,
            ERRORS.labels_cached(labels).value,
            sum(DURATION.labels_cached(labels).counts),
        )
        for labels in CASES
    }


def test_each_request_is_counted_and_timed_by_operation_and_resource() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            kv = await open_kv(f"etcd:{script.endpoint}", KVOptions(history_seconds=0))
            assert isinstance(kv, CountsRequests)
            mirror = Mirror(kv)
            for resource in (CONFIGMAPS, WIDGETS):
                mirror.storage(resource)

            async def all_of_them() -> None:
                await kv.put(b"/registry/configmaps/default/a", b"{}", expect=0)
                await kv.put(b"/registry/example.org/widgets/a", b"{}", expect=7)
                await kv.delete(b"/registry/configmaps/default/a", expect=7)
                await kv.range(b"/registry/example.org/widgets/a", b"")
                await kv.range(b"/registry/configmaps/", b"/registry/configmaps0")
                await kv.range(b"/elsewhere", b"")

            before = counts()
            await all_of_them()
            after = counts()
            assert {
                labels: tuple(b - a for a, b in zip(before[labels], after[labels], strict=True)) for labels in CASES
            } == dict.fromkeys(CASES, (1, 0, 1))
            script.refuse = (StatusCode.UNAVAILABLE, "etcdserver: no leader")
            with pytest.raises(Unavailable):
                await all_of_them()
            first = CASES[0]
            assert counts()[first][1] == after[first][1] + 1
            await kv.close()

    run(body())
    page = b"".join(run(render()).pieces).decode()
    assert 'etcd_requests_total{operation="create",group="",resource="configmaps"}' in page
    assert 'etcd_request_duration_seconds_bucket{operation="list",group="",resource="configmaps",le="60"}' in page
