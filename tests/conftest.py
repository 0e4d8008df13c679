"""What all tests share: options of the run, and the list of what could not be tested on this machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import HealthCheck, settings

from tests.alone import turn, without_what_others_left
from tests.watchdog import Watchdog

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))

settings.register_profile(
    "short",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=1000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("long" if LONG else "short")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``long`` run in ``make test-long`` only."""
    if LONG:
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="full counts: run by `make test-long`"))


_LOCKS = pytest.StashKey[TemporaryDirectory[str]]()
_WATCHDOG = pytest.StashKey[Watchdog]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker (pytest-xdist) where the workers of this run take their turns."""
    stash = node.config.stash
    if _LOCKS not in stash:
        stash[_LOCKS] = TemporaryDirectory(prefix="controlplane-turns-")
    node.workerinput["turns"] = stash[_LOCKS].name


def pytest_unconfigure(config: pytest.Config) -> None:
    locks = config.stash.get(_LOCKS, None)
    if locks is not None:
        locks.cleanup()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test marked ``alone`` runs while no other does, where several workers run tests (pytest-xdist)."""
    worker = getattr(item.config, "workerinput", None)
    alone = item.get_closest_marker("alone") is not None
    with ExitStack() as around:
        if worker is not None:
            around.enter_context(turn(Path(worker["turns"]), alone=alone))
        if alone:
            around.enter_context(without_what_others_left())
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_WATCHDOG] = Watchdog(os.dup(config.stash[fault_handler_stderr_fd_key]))


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """In place of pytest-timeout's ways to end a test."""
    item.config.stash[_WATCHDOG].watch(item.nodeid, settings.timeout)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    item.config.stash[_WATCHDOG].rest()
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not tested here, and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not tested on this machine")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count:5d}  {reason}")
