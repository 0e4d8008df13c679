"""Observers hear of changes in the step that applies them, before those who wait for its revision."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.ring import Change
from controlplane.storage.kv.backends import KVOptions, open_kv
from tests.aio import run


class Recorder:
    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.heard: list[str] = []

    def changed(self, change: Change) -> None:
        self.heard.append(f"{'put' if change.entry else 'del'} {change.key.rpartition(b'/')[2].decode()}")

    def step(self) -> None:
        if self.heard and self.heard[-1] != "step":
            self.heard.append("step")

    def replaced(self) -> None:
        self.heard.append(f"replaced {len(self.mirror.entries(CONFIGMAPS))}")


def test_what_an_observer_hears() -> None:
    async def main() -> None:
        kv = await open_kv("memory:", KVOptions())
        mirror = Mirror(kv)
        early = Recorder(mirror)
        stop = mirror.observe(CONFIGMAPS, early)
        with pytest.raises(ValueError, match="observed already"):
            mirror.observe(CONFIGMAPS, early)
        await mirror.start()
        assert early.heard == ["replaced 0", "step"]
        storage = mirror.storage(CONFIGMAPS)
        obj = {"metadata": {"name": "a", "namespace": "n"}}
        entry = await storage.create(Key("n", "a"), obj)
        assert await mirror.fresh(entry.mod_revision)
        assert early.heard[2:] == ["put a", "step"]
        stop()
        late = Recorder(mirror)
        mirror.observe(CONFIGMAPS, late)
        assert late.heard == ["replaced 1", "step"]

        async def check(_old: object, _entry: object) -> None:
            return None

        await storage.delete(Key("n", "a"), check, version="v1")
        assert await mirror.fresh(None)
        assert (late.heard[2:], early.heard[4:]) == (["del a", "step"], [])
        await mirror.close()
        await kv.close()

    run(main())
