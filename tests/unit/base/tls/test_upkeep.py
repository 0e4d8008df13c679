"""A running server renews its own certificates and takes up changed files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from controlplane.base.tasks import TaskGroup
from controlplane.base.tls.context import ServerTLS, TLSFiles
from controlplane.base.tls.pki import PKIError, ensure_pki, serving_names
from controlplane.base.tls.probe import serving_facts
from controlplane.base.tls.upkeep import keep_up
from tests.aio import run

DAY = 86_400.0


class QuickClock:
    """Sleeps at once, in virtual time; the world goes on between (threads included)."""

    def __init__(self, start: float) -> None:
        self.seconds = start

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds * 864  # ten days of virtual time take a hundred looks
        await asyncio.sleep(0)


def test_certificates_are_renewed_in_time_and_taken_up(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, serving_names())
    facts = serving_facts(pki.serving.files, pki.serving_ca.cert_file)
    clock = QuickClock(facts.not_after - 113 * DAY)
    cert_file, key_file = map(str, pki.serving.files)
    tls = ServerTLS(TLSFiles(cert_file=cert_file, key_file=key_file))
    renewed_at: list[float] = []

    async def scenario() -> None:
        changed = asyncio.Event()

        async def on_change() -> None:
            changed.set()

        def renew() -> None:
            if ensure_pki(tmp_path, serving_names(), now=clock.now).made:
                renewed_at.append(clock.seconds)

        async with TaskGroup("test") as group:
            group.start(keep_up(tls, clock=clock, renew=renew, on_change=on_change), name="upkeep")
            await changed.wait()

    run(scenario())
    (at,) = renewed_at
    assert facts.not_after - 111 * DAY < at < facts.not_after - 107 * DAY


def test_a_directory_that_cannot_be_checked_ends_nothing(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, serving_names())
    cert_file, key_file = map(str, pki.serving.files)
    tls = ServerTLS(TLSFiles(cert_file=cert_file, key_file=key_file))
    calls: list[None] = []

    async def scenario() -> None:
        loop, often = asyncio.get_running_loop(), asyncio.Event()

        def renew() -> None:
            calls.append(None)
            if len(calls) == 3:
                loop.call_soon_threadsafe(often.set)
            raise PKIError("disk gone")

        async with TaskGroup("test") as group:
            task = group.start(keep_up(tls, clock=QuickClock(0.0), renew=renew), name="upkeep")
            await often.wait()
            assert not task.done()

    run(scenario())
