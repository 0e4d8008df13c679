"""What all tests share: options of the run, and the list of what could not be tested on this machine."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

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
