"""The namespaces that every server has."""

from controlplane.controllers.system_namespaces.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
