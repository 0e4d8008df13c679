"""Garbage collection: dependents go with their owners."""

from controlplane.controllers.garbage_collector.controller import DESCRIPTOR, GarbageCollector

__all__ = ["DESCRIPTOR", "GarbageCollector"]
