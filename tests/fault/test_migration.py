"""A migration whose controller is killed again and again, while objects are written and deleted, leaves nothing behind.

20,000 objects and three kills with CONTROLPLANE_TEST_LONG, else a few objects and one.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apimachinery.status import APIError
from controlplane.base.tasks import TaskGroup
from controlplane.generic.config import Config
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.conftest import LONG
from tests.integration.controllers.objects import until
from tests.integration.storagemigration.widgets import WIDGETS, Migrations, conditions_of, stored_versions, widget

OBJECTS = 20_000 if LONG else 180
SECONDS = 600.0 if LONG else 60.0
PER_SECOND = 0 if LONG else 100
WRITERS = 4
WRITTEN_BY_OTHERS = 3
"""Every third object is written and deleted by others; the rest is the migration's alone."""
KILLED_AT = (0.2, 0.4, 0.6) if LONG else (0.4,)
"""Parts of that rest that are written anew."""


def without_controllers(config: Config) -> None:
    config.run_controllers = False


class Traffic:
    """Writes, deletes and creates widgets, in both versions, until it is told to stop."""

    def __init__(self, m: Migrations) -> None:
        self._versions = (m.widgets, m.of(GVR(WIDGETS.group, "v1beta1", WIDGETS.resource)))
        self._random, self.over = random.Random(6), asyncio.Event()
        self.written = self.deleted = 0

    async def run(self, writer: int) -> None:
        """Each writer has objects of its own."""
        while not self.over.is_set():
            number = self._random.randrange(WRITTEN_BY_OTHERS * writer, OBJECTS, WRITTEN_BY_OTHERS * WRITERS)
            key, client = Key("default", f"w{number:05}"), self._random.choice(self._versions)
            try:
                if self._random.random() < 0.1:
                    await client.delete(key)
                    self.deleted += 1
                else:
                    await client.patch(key, {"spec": {"number": number, "salt": self._random.random()}})
                    self.written += 1
            except APIError as error:
                if error.reason != "NotFound":
                    raise
                await self._versions[0].create(widget(key.name))
            await asyncio.sleep(0.01)


@asynccontextmanager
async def controllers(kubeconfig: Path, log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The controllers in a process of their own, which is killed in the end."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sample_controlplane",
            "controllers",
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            f"--storage-migration.writes-per-second={PER_SECOND}",
            stdout=output,
            stderr=output,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.mark.timeout(SECONDS + 30)
def test_a_controller_that_is_killed_leaves_nothing_in_the_old_version(tmp_path: Path) -> None:
    async def main() -> None:
        store = f"sqlite:{tmp_path / 'store.db'}"
        async with running_plane(tmp_path, store=store, configure=without_controllers) as plane:
            m, kv = Migrations(plane), plane.control_plane.kv
            await m.define()
            await m.make_widgets(OBJECTS)
            await m.store_as_v1()
            traffic = Traffic(m)
            async with TaskGroup("traffic") as group:
                working = [group.start(traffic.run(n), name=f"writer-{n}") for n in range(WRITERS)]
                await m.migrate("to-v1")
                for part in KILLED_AT:
                    wanted = OBJECTS // WRITTEN_BY_OTHERS + part * OBJECTS * (1 - 1 / WRITTEN_BY_OTHERS)

                    async def is_so_far(wanted: float = wanted) -> bool:
                        return (await stored_versions(kv))["example.org/v1"] >= wanted

                    async with controllers(plane.kubeconfig, tmp_path / "log.txt") as process:
                        await until(is_so_far, seconds=SECONDS, every=0.1)
                        assert process.returncode is None
                    (running,) = conditions_of(await m.migrations.get(Key("", "to-v1")))
                    assert running[:3] == ("Running", "True", "MigrationRunning")
                async with controllers(plane.kubeconfig, tmp_path / "log.txt"):
                    ended = await m.ended("to-v1", seconds=SECONDS)
                traffic.over.set()
                await asyncio.gather(*working)
            assert [condition[:2] for condition in conditions_of(ended)] == [
                ("Running", "False"),
                ("Succeeded", "True"),
            ]
            assert set(await stored_versions(kv)) == {"example.org/v1"}
            assert await m.stored_versions() == ["v1"]
            assert traffic.written > 10
            assert traffic.deleted > 0
            message = (await m.said("to-v1"))["message"]
            seen, *outcomes = map(int, re.findall(r"(\d+) (?:seen|rewritten|already|changed|failed)", message))
            assert (seen, outcomes[-1]) == (sum(outcomes), 0)
            assert abs(seen - OBJECTS) <= traffic.deleted

    run(main(), seconds=SECONDS)
