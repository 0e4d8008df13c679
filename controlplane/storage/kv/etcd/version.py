"""What follows from an etcd server's version.

A requested watch progress could overtake events that were still on their way, or claim a revision that the watch had
not reached, until etcd 3.4.31 and 3.5.13; 3.6 was published with the repair.

Source: etcd changelogs 3.4 and 3.5; the same versions as kube-apiserver's check for RequestWatchProgress.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse_version", "progress_is_trustworthy"]

Version = tuple[int, int, int]

REPAIRED: Final[dict[tuple[int, int], int]] = {(3, 4): 31, (3, 5): 13}
"""Minor release -> its first patch release with the repair."""

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")


def parse_version(text: str) -> Version | None:
    """Major, minor, patch; None if the text is no version. A pre-release counts as the patch before it."""
    match = _VERSION.match(text)
    if match is None:
        return None
    major, minor, patch = int(match[1]), int(match[2]), int(match[3])
    return major, minor, patch - 1 if match[4] else patch


def progress_is_trustworthy(text: str) -> bool:
    """Whether a server of this version answers a progress request only after the events it covers."""
    version = parse_version(text)
    if version is None:
        return False
    major, minor, patch = version
    repaired = REPAIRED.get((major, minor))
    return patch >= repaired if repaired is not None else (major, minor, patch) >= (3, 6, 0)
