"""The SQLite store keeps the KV contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv
from controlplane.testing.kv import KV_CHECKS, Check
from tests.aio import run


@pytest.mark.parametrize("check", KV_CHECKS, ids=str)
def test_sqlite_conforms(check: Check, tmp_path: Path) -> None:
    async def open_it() -> KV:
        return await open_kv(f"sqlite:{tmp_path}/store.db")

    run(check.run(open_it, reopen=open_it))
