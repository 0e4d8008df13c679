"""Secrets that hold a service account's token."""

from controlplane.controllers.service_account_tokens.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
