"""The webhooks that are configured, each made ready once: its selectors parsed, its conditions compiled.

Source: kubernetes/apiserver ``pkg/admission/configuration`` and ``plugin/webhook/accessors.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.admission.api import Operation
from controlplane.client.webhook import WebhookAddress
from controlplane.plugins.admission.matching.rules import Candidate, Match, candidates
from controlplane.plugins.admission.matching.selection import Selectors

if TYPE_CHECKING:
    from controlplane.plugins.admission.expressions.conditions import Conditions

__all__ = ["REVIEW_VERSIONS", "Webhook", "webhooks_of"]

REVIEW_VERSIONS = ("v1", "v1beta1")


class Webhook:
    """One webhook. ``position``: among all of its kind. ``uid`` tells it from others of its name. ``step``: what the
    phase is called in metrics."""

    def __init__(self, given: Obj, *, configuration: str, uid: str, position: int, step: str) -> None:
        self.name: str = given["name"]
        self.configuration, self.uid, self.position = configuration, uid, position
        self.rules: list[Obj] = given.get("rules") or []
        self.exact = given.get("matchPolicy") == "Exact"
        self.fails_open = given.get("failurePolicy") == "Ignore"
        self.reinvoked = given.get("reinvocationPolicy") == "IfNeeded"
        self.side_effects: str | None = given.get("sideEffects")
        self.timeout_seconds = float(given.get("timeoutSeconds") or 10)
        self.review_version = next(
            (version for version in given.get("admissionReviewVersions") or () if version in REVIEW_VERSIONS), None
        )
        self.selectors = Selectors(given)
        self._given, self._step = given, step

    @cached_property
    def address(self) -> WebhookAddress:
        """Where it is."""
        return WebhookAddress.of(self._given.get("clientConfig") or {})

    @property
    def conditional(self) -> bool:
        """Whether it has match conditions."""
        return bool(self._given.get("matchConditions"))

    @cached_property
    def conditions(self) -> Conditions:
        """Its match conditions, if it has any; compiled when they are first asked for."""
        given = self._given["matchConditions"]
        from controlplane.apis.admissionregistration.expressions import Compiler  # not before there are any
        from controlplane.plugins.admission.expressions.conditions import Conditions

        compiler = Compiler()
        compiled = [compiler.condition(condition["expression"]) for condition in given]
        return Conditions(compiled, not self.fails_open, (self.name, "webhook", self._step))

    def candidates(self, operation: Operation, forms: list[Match], subresource: str) -> tuple[Candidate, ...]:
        """Its rules that may be for an operation on a resource."""
        return candidates(self.rules, operation, forms, subresource, exact=self.exact)


def webhooks_of(configurations: Iterable[Obj], *, step: str) -> Iterator[Webhook]:
    """The webhooks of configurations, in order."""
    position = 0
    for configuration in configurations:
        name = configuration["metadata"]["name"]
        seen: dict[str, int] = {}
        for given in configuration.get("webhooks") or ():
            number = seen[given["name"]] = seen.get(given["name"], -1) + 1
            uid = f"{name}/{given['name']}/{number}"
            yield Webhook(given, configuration=name, uid=uid, position=position, step=step)
            position += 1
