"""The changes that patches make: one module for each family of patch types."""

from controlplane.apiserver.endpoints.changes.api import Change, Edit

__all__ = ["Change", "Edit"]
