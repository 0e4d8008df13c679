"""What a validation finds, gathered without holding the loop."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery.validation.field import FieldError
from controlplane.storage.cache.slices import Slices

__all__ = ["all_found", "found_at_once"]


async def all_found(findings: Iterable[FieldError | None]) -> list[FieldError]:
    """All errors of a validation that is an iterator; at each None there may be a break."""
    slices = Slices()
    errors: list[FieldError] = []
    for finding in findings:
        if finding is not None:
            errors.append(finding)
        elif slices.due():
            await slices.rest()
    return errors


def found_at_once(findings: Iterable[FieldError | None]) -> list[FieldError]:
    """All errors of a validation, without a break: for work that is not on the loop."""
    return [finding for finding in findings if finding is not None]
