"""Cluster roles that are the sum of others."""

from controlplane.controllers.cluster_role_aggregation.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
