"""The memory store keeps the KV contract."""

from __future__ import annotations

import pytest

from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv
from controlplane.testing.kv import KV_CHECKS, Check
from tests.aio import run


async def fresh() -> KV:
    return await open_kv("memory:")


@pytest.mark.parametrize("check", KV_CHECKS, ids=str)
def test_memory_conforms(check: Check) -> None:
    run(check.run(fresh))
