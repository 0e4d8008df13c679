"""The order of API versions: v2 before v1 before v1beta2 before v1alpha1, anything else after, by name.

Source: kubernetes/apimachinery ``pkg/util/version`` (kube-aware comparison).
"""

from __future__ import annotations

import re

__all__ = ["version_order"]

_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def version_order(name: str) -> tuple[int, int, int, int, str]:
    """A sort key: smaller is preferred."""
    match = _KUBE_VERSION.fullmatch(name)
    if match is None:
        return (1, 0, 0, 0, name)
    major, stability, minor = match.groups()
    return (0, _STABILITY[stability], -int(major), -int(minor or 0), name)
