"""The policies that are in force, with their bindings: which of them may be for a request is worked out once for each
operation, resource and subresource. When one of them or what is served has changed, only what that makes different is
worked out again: with some hundred policies all of it would hold the loop. A policy is compiled once for each of its
states, when it first matters.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/generic/policy_source.go``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from controlplane.apimachinery.identity import GVR, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.admission.api import Operation
from controlplane.base import logs
from controlplane.plugins.admission.api import PluginServices
from controlplane.plugins.admission.following import Followed
from controlplane.plugins.admission.matching.rules import Match, equivalents, is_exempt
from controlplane.plugins.admission.policies.constraints import Constraints, Place, Scope
from controlplane.storage.cache.slices import Slices

__all__ = ["Binding", "BoundScope", "Policy", "PolicyIndex", "RelevantPolicy"]

log = logs.get(__name__)

_REMEMBERED = 4096

C = TypeVar("C")


class Binding:
    """One binding of a policy."""

    __slots__ = ("actions", "constraints", "name", "policy", "reference")

    def __init__(self, obj: Obj) -> None:
        spec = obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.policy: str = spec.get("policyName") or ""
        self.reference: Obj | None = spec.get("paramRef")
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        given = spec.get("matchResources")
        self.constraints = None if given is None else Constraints(given)


class Policy(Generic[C]):
    """One policy. ``compiled``: its expressions, made ready by ``compile`` when they are first asked for."""

    __slots__ = ("_compile", "_compiled", "constraints", "fails_open", "name", "param_kind", "spec")

    def __init__(self, obj: Obj, compile_: Callable[[Policy[C]], C]) -> None:
        self.spec = obj.get("spec") or {}
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


class _Found(Generic[C]):
    """What has been found at one place, as far as ``steps`` have come. ``state``: of the index when it was begun;
    ``known``: by policy, with what was looked at. ``failure``: why the steps have not come to their end."""

    __slots__ = ("failure", "forms", "known", "relevant", "state", "steps")

    def __init__(self, state: int, forms: list[Match]) -> None:
        self.state, self.forms = state, forms
        self.failure: Exception | None = None
        self.known: dict[Policy[C], tuple[list[Binding], RelevantPolicy[C] | None]] = {}
        self.relevant: list[RelevantPolicy[C]] = []
        self.steps: Iterator[None] = iter(())


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
        self._bindings: dict[str, Binding] = {}
        self._bound: dict[str, list[Binding]] = {}
        self._unread: tuple[set[str], set[str]] = set(), set()
        self._found: dict[tuple[Operation, GVR, str], _Found[C]] = {}
        self._state = 0
        self._followed: list[Followed] = []
        for resource, unread in zip((policies, bindings), self._unread, strict=True):
            self._followed.append(Followed(services.mirror, resource, partial(self._changed, unread)))
        self._unsubscribe = services.tables.subscribe(lambda _table: self._outdate())

    async def relevant(
        self, operation: Operation, resource: GVR, subresource: str, slices: Slices
    ) -> list[RelevantPolicy[C]]:
        """The policies that may be for a request, by name."""
        found = self._begun((operation, resource, subresource))
        for _ in found.steps:
            if slices.due():
                await slices.rest()
        if found.failure is not None:  # while another request took the steps
            raise found.failure
        return found.relevant

    def wants(self, operation: Operation, resource: GVR, subresource: str) -> bool:
        """Whether there is any: the first one will do."""
        found = self._begun((operation, resource, subresource))
        return bool(found.relevant) or any(found.relevant for _ in found.steps)

    def close(self) -> None:
        """Follow nothing any more."""
        self._unsubscribe()
        for followed in self._followed:
            followed.stop()

    def _begun(self, key: tuple[Operation, GVR, str]) -> _Found[C]:
        """What is known of a place, or begun anew."""
        found = self._found.get(key)
        if found is None or found.state != self._state or found.failure is not None:
            found = self._begin(key, found)
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            self._found[key] = found
        return found

    def _begin(self, key: tuple[Operation, GVR, str], before: _Found[C] | None) -> _Found[C]:
        operation, resource, subresource = key
        if not all(self._followed) or is_exempt(resource):
            return _Found(self._state, [])
        self._read()
        found = _Found[C](self._state, equivalents(self._tables.current, resource, subresource))
        known = before.known if before is not None and before.forms == found.forms else {}
        found.steps = self._steps(found, Place(operation, found.forms, subresource), known)
        return found

    def _steps(
        self, found: _Found[C], place: Place, known: Mapping[Policy[C], tuple[list[Binding], RelevantPolicy[C] | None]]
    ) -> Iterator[None]:
        """Look at one policy after another. What is ``known`` holds, if neither the policy nor its bindings have
        changed."""
        names = sorted(self._bound.keys() & self._policies.keys())
        try:
            for policy, bound in [(self._policies[name], self._bound[name]) for name in names]:
                seen = known.get(policy)
                if seen is None or seen[0] is not bound:
                    seen = bound, _relevant(policy, bound, place)
                found.known[policy] = seen
                if seen[1] is not None:
                    found.relevant.append(seen[1])
                yield
        except Exception as error:
            found.failure = error
            raise

    def _read(self) -> None:
        """Make what has changed ready."""
        (policies, bindings), (unread_policies, unread_bindings) = self._followed, self._unread
        while unread_policies:
            name = next(iter(unread_policies))
            if (obj := policies.get(name)) is None:
                self._policies.pop(name, None)
            else:
                self._policies[name] = Policy(obj, self._compile)
            unread_policies.discard(name)  # now: what cannot be made ready fails the next request, too
        while unread_bindings:
            name = next(iter(unread_bindings))
            self._bind(name, None if (obj := bindings.get(name)) is None else Binding(obj))
            unread_bindings.discard(name)

    def _bind(self, name: str, binding: Binding | None) -> None:
        """Put a binding in the place of the one of its name. Lists are replaced: that is how a change is seen."""
        before = self._bindings.pop(name, None)
        if binding is not None:
            self._bindings[name] = binding
        for policy in {one.policy for one in (before, binding) if one is not None}:
            bound = [one for one in self._bound.pop(policy, ()) if one is not before]
            if binding is not None and binding.policy == policy:
                insort(bound, binding, key=_name)
            if bound:
                self._bound[policy] = bound

    def _changed(self, unread: set[str], names: Collection[str]) -> None:
        unread.update(names)
        if len(self._followed) == len(self._unread):
            try:
                self._read()  # now, one by one, rather than all that have changed with the next request
            except Exception as error:  # noqa: BLE001  # the next request meets it again, and fails
                log.debug("a policy cannot be made ready", error=error)
        self._outdate()

    def _outdate(self) -> None:
        self._state += 1
        self._outdate_chain()


def _name(binding: Binding) -> str:
    return binding.name


def _relevant(policy: Policy[C], bindings: Sequence[Binding], place: Place) -> RelevantPolicy[C] | None:
    """What is left of a policy at a place."""
    scope = policy.constraints.at(place)
    bound = _bound(bindings, place) if scope is not None else ()
    return RelevantPolicy(policy, scope, bound) if scope is not None and bound else None


def _bound(bindings: Sequence[Binding], place: Place) -> list[BoundScope]:
    found = []
    for binding in bindings:
        if binding.constraints is None:
            found.append(BoundScope(binding, None))
        elif (scope := binding.constraints.at(place)) is not None:
            found.append(BoundScope(binding, scope))
    return found
