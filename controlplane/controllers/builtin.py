"""The built-in controllers, in the order in which they start."""

from __future__ import annotations

from controlplane.controllers import garbage_collector, namespace_deletion, system_namespaces
from controlplane.controllers.descriptor import ControllerDescriptor

__all__ = ["BUILTIN"]

BUILTIN: tuple[ControllerDescriptor, ...] = (
    system_namespaces.DESCRIPTOR,
    namespace_deletion.DESCRIPTOR,
    garbage_collector.DESCRIPTOR,
)
