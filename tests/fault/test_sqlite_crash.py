"""A store whose process is killed under load has every acknowledged write, and nothing half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from controlplane.storage.kv.api import KeyValue, prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.maintenance import check
from tests.aio import run

KILLS = 20 if os.environ.get("CONTROLPLANE_TEST_LONG") else 3
CLIENTS = 16


def killed_under_load(path: Path, acknowledgements: int) -> list[dict[str, Any]]:
    """Let a process write, kill it after so many acknowledged writes; all that it had told."""
    command = [sys.executable, "-m", "tests.fault.kv_child", f"sqlite:{path}", str(CLIENTS), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acknowledgements)]
        child.kill()
        lines += child.stdout.read().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


async def stored(path: Path) -> tuple[int, dict[bytes, KeyValue]]:
    kv = await open_kv(f"sqlite:{path}")
    try:
        result = await kv.range(b"/load/", prefix_end(b"/load/"))
        return result.revision, {kv.key: kv for kv in result.items}
    finally:
        await kv.close()


def test_every_acknowledged_write_survives_kill(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    newest: dict[bytes, dict[str, Any]] = {}
    for kill in range(KILLS):
        told = killed_under_load(path, acknowledgements=200 + 137 * kill % 500)
        assert len({ack["revision"] for ack in told}) == len(told)
        for ack in told:
            newest[ack["key"].encode()] = ack
        assert check(path).problems == (), f"after kill {kill}"
        revision, keys = run(stored(path))
        assert revision >= max(ack["revision"] for ack in told)
        for key, ack in newest.items():
            kv = keys.get(key)
            if kv is None:  # deleted, as acknowledged, or by a write that followed and was not answered any more
                assert ack["size"] is None or revision > ack["revision"]
            elif kv.mod_revision == ack["revision"]:
                assert len(kv.value) == ack["size"]
            else:  # one write of each client may have been under way
                assert kv.mod_revision > ack["revision"], f"{key!r} went back"
        unanswered = revision - max(ack["revision"] for ack in told)
        assert unanswered <= CLIENTS, "more is there than was ever asked for"
