"""What is wrong with the types in the expressions of validating policies."""

from controlplane.controllers.policy_type_checking.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
