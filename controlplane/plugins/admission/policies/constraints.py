"""What a policy or a binding is for: its rules and selectors, made ready once.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/matching/matching.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.admission.api import Attributes, Operation
from controlplane.plugins.admission.matching.rules import Candidate, Match, candidates, first_match
from controlplane.plugins.admission.matching.selection import Namespaces, Selectors

__all__ = ["Constraints", "Place", "Scope"]


class Place(NamedTuple):
    """An operation on a resource in all its forms (as it is requested first), and its subresource."""

    operation: Operation
    forms: list[Match]
    subresource: str


class Scope(NamedTuple):
    """What is left of the constraints at one place. ``among`` None: there are no rules, so that all match."""

    constraints: Constraints
    among: Sequence[Candidate] | None
    excluded: Sequence[Candidate]

    async def match(self, attributes: Attributes, namespaces: Namespaces) -> Match | None:
        """As what the request matches; None if it does not.

        Raises:
            APIError: it cannot be told, because there is no such namespace.
        """
        constraints = self.constraints
        if first_match(self.excluded, attributes) is not None:
            return None
        if self.among is None:
            found: Match | None = Match(attributes.resource, attributes.kind)
        else:
            found = first_match(self.among, attributes)
        return found if found is not None and await constraints.selectors.select(attributes, namespaces) else None


class Constraints:
    """A MatchResources."""

    __slots__ = ("_everywhere", "_exact", "_excluded", "_rules", "selectors")

    def __init__(self, given: Obj) -> None:
        self._rules, self._excluded = given.get("resourceRules") or (), given.get("excludeResourceRules") or ()
        self._exact = given.get("matchPolicy") == "Exact"
        self.selectors = Selectors(given)
        self._everywhere = None if self._rules or self._excluded else Scope(self, None, ())

    def at(self, place: Place) -> Scope | None:
        """What is left at one place; None if nothing there can match."""
        if self._everywhere is not None:
            return self._everywhere
        operation, forms, subresource = place
        among: tuple[Candidate, ...] | None = None
        if self._rules:
            among = candidates(self._rules, operation, forms, subresource, exact=self._exact)
            if not among:
                return None
        return Scope(self, among, candidates(self._excluded, operation, forms, subresource, exact=self._exact))
