"""Namespace deletion: content first, then the namespace."""

from controlplane.controllers.namespace_deletion.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
