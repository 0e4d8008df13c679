"""Which servers' requested progress is believed."""

from __future__ import annotations

import pytest

from controlplane.storage.kv.etcd.version import parse_version, progress_is_trustworthy


@pytest.mark.parametrize(
    ("text", "trustworthy"),
    [
        ("3.3.27", False),
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.4.31-rc.0", False),
        ("3.5.1", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("v3.5.21", True),
        ("3.6.0-alpha.0", False),
        ("3.6.0", True),
        ("3.7.0-rc.1", True),
        ("4.0.0", True),
        ("", False),
        ("main", False),
    ],
)
def test_progress_is_believed_from_the_repaired_versions_on(text: str, *, trustworthy: bool) -> None:
    assert progress_is_trustworthy(text) is trustworthy


def test_a_version_is_three_numbers() -> None:
    assert parse_version("3.5.13+git") == (3, 5, 13)
    assert parse_version("3.5") is None
