"""Why an object is still there: what blocks its deletion, and what the garbage collector would do."""

from controlplane.controllers.blocking.report import Report, why

__all__ = ["Report", "why"]
