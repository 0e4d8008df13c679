"""What resource quotas say is used."""

from controlplane.controllers.resource_quota.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
