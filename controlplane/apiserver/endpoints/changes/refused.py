"""The refusal that patch types share."""

from __future__ import annotations

from controlplane.apimachinery.status import APIError

__all__ = ["not_applicable"]


def not_applicable() -> APIError:
    """422 for a patch that does not fit the object; upstream does not say why, either."""
    return APIError(422, "Invalid", "the server rejected our request due to an error in our request", details={})
