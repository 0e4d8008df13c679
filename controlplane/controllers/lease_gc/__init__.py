"""Leases of servers that have gone."""

from controlplane.controllers.lease_gc.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
