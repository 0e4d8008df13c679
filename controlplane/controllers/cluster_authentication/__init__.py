"""The ConfigMap by which aggregated API servers trust this one's clients and front proxy."""

from controlplane.controllers.cluster_authentication.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
