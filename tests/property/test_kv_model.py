"""Random histories on the embedded stores agree with a small model, across reopening and compaction."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.maintenance import check
from tests.aio import run
from tests.property.kv_model import HISTORIES, Step, play


@given(HISTORIES)
def test_memory_histories_agree_with_the_model(history: list[Step]) -> None:
    async def fresh() -> KV:
        return await open_kv("memory:")

    run(play(history, fresh, reopen=None))


@pytest.mark.timeout(1200)
@given(HISTORIES)
def test_sqlite_histories_agree_with_the_model(history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "store.db"

        async def open_it() -> KV:
            return await open_kv(f"sqlite:{path}")

        run(play(history, open_it, reopen=open_it))
        assert check(path).problems == ()
