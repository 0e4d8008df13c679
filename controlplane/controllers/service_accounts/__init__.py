"""The service account ``default`` of every namespace."""

from controlplane.controllers.service_accounts.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
