"""What can be wrong with a patch. The endpoint gives each its HTTP status."""

from __future__ import annotations

__all__ = ["MalformedPatch", "PatchError", "PatchNotApplicable", "TooManyOperations"]


class PatchError(ValueError):
    """Root of the errors of patches; the object is unchanged."""


class MalformedPatch(PatchError):
    """It is no patch at all (400 BadRequest)."""


class TooManyOperations(PatchError):
    """More operations than are allowed (413 RequestEntityTooLarge)."""

    def __init__(self, limit: int, given: int) -> None:
        super().__init__(f"The allowed maximum operations in a JSON patch is {limit}, got {given}")
        self.limit, self.given = limit, given


class PatchNotApplicable(PatchError):
    """It does not fit the object: a path is missing, a test failed (422)."""
