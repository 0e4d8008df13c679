"""The etcd backend keeps every promise of the KV seam."""

from __future__ import annotations

import pytest

from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.testing.kv import KV_CHECKS, Check
from tests.aio import run

pytestmark = pytest.mark.etcd


@pytest.mark.parametrize("check", KV_CHECKS, ids=str)
def test_etcd_keeps_the_promises_of_the_seam(check: Check, etcd: str) -> None:
    async def opened() -> KV:
        return await open_kv(f"etcd:{etcd}", KVOptions(history_seconds=0))

    run(check.run(opened, reopen=opened))
