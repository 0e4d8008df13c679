"""The policies that are in force, with their bindings: which of them may be for a request is worked out once for each
operation, resource and subresource, until one of them or what is served changes. A policy is compiled once for each of
its states, when it first matters.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/generic/policy_source.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from controlplane.apimachinery.identity import GVR, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.admission.api import Operation
from controlplane.plugins.admission.api import PluginServices
from controlplane.plugins.admission.following import Followed
from controlplane.plugins.admission.matching.rules import equivalents, is_exempt
from controlplane.plugins.admission.policies.constraints import Constraints, Place, Scope

__all__ = ["Binding", "BoundScope", "Policy", "PolicyIndex", "RelevantPolicy"]

_REMEMBERED = 4096

C = TypeVar("C")


class Binding:
    """One binding of a policy."""

    __slots__ = ("actions", "constraints", "name", "reference")

    def __init__(self, obj: Obj) -> None:
        spec = obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.reference: Obj | None = spec.get("paramRef")
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        given = spec.get("matchResources")
        self.constraints = None if given is None else Constraints(given)


class Policy(Generic[C]):
    """One policy. ``compiled``: its expressions, made ready by ``compile`` when they are first asked for."""

    __slots__ = ("_compile", "_compiled", "constraints", "fails_open", "name", "obj", "param_kind", "spec")

    def __init__(self, obj: Obj, compile_: Callable[[Policy[C]], C]) -> None:
        self.obj, self.spec = obj, obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.fails_open = self.spec.get("failurePolicy") == "Ignore"
        self.param_kind: Obj | None = self.spec.get("paramKind")
        self.constraints = Constraints(self.spec.get("matchConstraints") or {})
        self._compile, self._compiled = compile_, None

    @property
    def compiled(self) -> C:
        made: C | None = self._compiled
        if made is None:
            made = self._compile(self)
            self._compiled = made  # type: ignore[assignment]  # it begins as None
        return made


class BoundScope(NamedTuple):
    """A binding; what of its own constraints is left for a request, None if it has none."""

    binding: Binding
    scope: Scope | None


class RelevantPolicy(NamedTuple, Generic[C]):
    """A policy that may be for a request."""

    policy: Policy[C]
    scope: Scope
    bindings: Sequence[BoundScope]


class PolicyIndex(Generic[C]):
    """The policies of one kind, and their bindings."""

    def __init__(
        self,
        services: PluginServices,
        policies: Resource,
        bindings: Resource,
        compile_: Callable[[Policy[C]], C],
    ) -> None:
        self._tables, self._outdate_chain, self._compile = services.tables, services.outdate, compile_
        self._policies: dict[str, Policy[C]] = {}
        self._bindings: dict[str, list[Binding]] | None = None
        self._relevant: dict[tuple[Operation, GVR, str], list[RelevantPolicy[C]]] = {}
        self._followed = [
            Followed(services.mirror, policies, self._outdate),
            Followed(services.mirror, bindings, self._rebind),
        ]
        self._unsubscribe = services.tables.subscribe(lambda _table: self._outdate())

    def relevant(self, operation: Operation, resource: GVR, subresource: str) -> list[RelevantPolicy[C]]:
        """The policies that may be for a request, by name."""
        key = (operation, resource, subresource)
        found = self._relevant.get(key)
        if found is None:
            if len(self._relevant) >= _REMEMBERED:
                self._relevant.clear()
            found = self._relevant[key] = self._find(*key)
        return found

    def wants(self, operation: Operation, resource: GVR, subresource: str) -> bool:
        """Whether there is any."""
        return bool(self.relevant(operation, resource, subresource))

    def close(self) -> None:
        """Follow nothing any more."""
        self._unsubscribe()
        for followed in self._followed:
            followed.stop()

    def _find(self, operation: Operation, resource: GVR, subresource: str) -> list[RelevantPolicy[C]]:
        policies, bindings = self._followed
        if not policies or not bindings or is_exempt(resource):
            return []
        if self._bindings is None:
            self._bindings = {}
            for obj in bindings.sorted():
                name = (obj.get("spec") or {}).get("policyName") or ""
                self._bindings.setdefault(name, []).append(Binding(obj))
        place = Place(operation, equivalents(self._tables.current, resource, subresource), subresource)
        found = []
        present = policies.sorted()
        if len(self._policies) > len(present):
            self._policies = {policy.name: policy for policy in map(self._policy, present)}
        for obj in present:
            bound = self._bindings.get(obj["metadata"]["name"])
            if not bound:
                continue
            policy = self._policy(obj)
            scope = policy.constraints.at(place)
            if scope is not None:
                found.append(RelevantPolicy(policy, scope, _bound(bound, place)))
        return [relevant for relevant in found if relevant.bindings]

    def _policy(self, obj: Obj) -> Policy[C]:
        """The policy of an object, the same as long as it has not changed."""
        known = self._policies.get(obj["metadata"]["name"])
        if known is None or known.obj is not obj:
            known = self._policies[obj["metadata"]["name"]] = Policy(obj, self._compile)
        return known

    def _rebind(self) -> None:
        self._bindings = None
        self._outdate()

    def _outdate(self) -> None:
        self._relevant.clear()
        self._outdate_chain()


def _bound(bindings: Sequence[Binding], place: Place) -> list[BoundScope]:
    found = []
    for binding in bindings:
        if binding.constraints is None:
            found.append(BoundScope(binding, None))
        elif (scope := binding.constraints.at(place)) is not None:
            found.append(BoundScope(binding, scope))
    return found
