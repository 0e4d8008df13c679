"""The registry's metrics."""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["STORED_OBJECTS"]

STORED_OBJECTS = metrics.gauge(
    "controlplane_stored_objects",
    "Objects in the store, by the version in which and the encryption key under which they are stored; counted when "
    "asked for, at most every 5 s. An empty version: they cannot be read. An empty key: they are not encrypted.",
    labels=("group", "resource", "version", "key"),
)
