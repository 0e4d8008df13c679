"""MutatingAdmissionPolicy: changes what is written as the policies in force say, one after the other.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/mutating`` and ``generic/policy_dispatcher.go``.
"""

from __future__ import annotations

from dataclasses import field
from time import perf_counter
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apimachinery.schema.decode import DecodeError, strict_error
from controlplane.apimachinery.status import APIError, internal_error
from controlplane.apiserver.admission.api import Attributes, refused
from controlplane.apiserver.registry.table import Served
from controlplane.base.values import dataclass
from controlplane.plugins.admission.api import PluginServices
from controlplane.plugins.admission.expressions.conditions import conditions_hold
from controlplane.plugins.admission.expressions.evaluation import Permissions
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.matching.selection import Namespaces
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.policies.index import Binding, Policy, PolicyIndex, RelevantPolicy
from controlplane.plugins.admission.policies.invocation import Frame, namespace_of
from controlplane.plugins.admission.policies.metrics import observe_mutation
from controlplane.plugins.admission.policies.parameters import ParameterError, Parameters
from controlplane.plugins.admission.policies.patches import MutationFailed, Mutations, mutated
from controlplane.plugins.admission.webhooks.reinvocation import Reinvoking
from controlplane.storage.cache.slices import Slices

__all__ = ["Mutator"]

_NAME = "MutatingAdmissionPolicy"


class _Error(NamedTuple):
    """Why a policy denies a request."""

    policy: Policy[Mutations]
    binding: Binding | None
    why: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding is None:
            return f'policy "{self.policy.name}" denied request: {self.why}'
        return f"policy '{self.policy.name}' with binding '{self.binding.name}' denied request: {self.why}"


class _Invocation(NamedTuple):
    """One policy with one binding and one parameter."""

    policy: Policy[Mutations]
    binding: Binding
    match: Match
    parameter: Obj | None

    @property
    def key(self) -> tuple[str, str, str, str]:
        meta = metadata(self.parameter) if self.parameter is not None else {}
        return self.policy.name, self.binding.name, meta.get("namespace") or "", meta.get("name") or ""


@dataclass(slots=True)
class _Run:
    """One request on its way through the policies."""

    attributes: Attributes
    versions: Versions
    permissions: Permissions
    memory: Reinvoking
    errors: list[_Error] = field(default_factory=list)


class Mutator:
    """The plugin at work."""

    def __init__(self, services: PluginServices, index: PolicyIndex[Mutations]) -> None:
        self._index = index
        self._tables, self._authorizer = services.tables, services.authorizer
        self._namespaces, self._parameters = Namespaces(services.storage_of), Parameters(services.tables)

    async def mutate(self, attributes: Attributes) -> None:
        slices = Slices()
        place = attributes.operation, attributes.resource, attributes.subresource
        relevant = await self._index.relevant(*place, slices)
        run = _Run(
            attributes,
            Versions(attributes, self._tables),
            Permissions(self._authorizer, attributes.user),
            Reinvoking.of(_NAME, attributes),
        )
        invocations: list[_Invocation] = []
        for one in relevant:
            invocations += await self._invocations(one, run)
            if slices.due():
                await slices.rest()
        if invocations:
            try:
                namespace = await namespace_of(attributes, self._namespaces)
                for invocation in invocations:
                    await self._invoke(invocation, namespace, run)
                    if slices.due():
                        await slices.rest()
                await run.versions.give_back()
            finally:
                run.memory.finish(attributes)
        errors = [error for error in run.errors if not error.policy.fails_open]
        if errors:
            raise _refusal(attributes, errors)

    async def _invocations(self, relevant: RelevantPolicy[Mutations], run: _Run) -> list[_Invocation]:
        policy, attributes = relevant.policy, run.attributes

        def misconfigured(binding: Binding | None, why: str) -> None:
            what = "policy" if binding is None else "binding"
            run.errors.append(_Error(policy, binding, f"failed to configure {what}: {why}"))

        try:
            match = await relevant.scope.match(attributes, self._namespaces)
        except APIError as error:
            misconfigured(None, error.message)
            return []
        if match is None:
            return []
        if policy.param_kind is not None and self._parameters.served(policy.param_kind) is None:
            kind = f"{policy.param_kind.get('apiVersion')}, Kind={policy.param_kind.get('kind')}"
            misconfigured(None, f"failed to find resource referenced by paramKind: '{kind}'")
            return []
        found: list[_Invocation] = []
        for binding, scope in relevant.bindings:
            try:
                if scope is not None and await scope.match(attributes, self._namespaces) is None:
                    continue
                parameters = await self._parameters.collect(policy.param_kind, binding.reference, attributes.namespace)
            except (APIError, ParameterError) as error:
                misconfigured(binding, error.message if isinstance(error, APIError) else str(error))
                continue
            found += [_Invocation(policy, binding, match, parameter) for parameter in parameters]
        return found

    async def _invoke(self, invocation: _Invocation, namespace: Obj | None, run: _Run) -> None:
        """Carry out one policy's mutations.

        Raises:
            APIError: the object is no longer one of its kind.
        """
        policy, binding, match, parameter = invocation
        mutations, attributes = policy.compiled, run.attributes
        objects = await run.versions.at(match)
        frame = Frame(attributes, match, objects, namespace, parameter, run.permissions)
        holds, error = await conditions_hold(
            mutations.conditions, frame.evaluation(mutations.variables), attributes.operation.value
        )
        if error:
            run.errors.append(_Error(policy, binding, error, "Invalid"))
        if not holds or error or run.memory.skips(invocation.key, attributes):
            return
        obj = before = objects[0]
        served = self._tables.current.routes.get(match.resource)
        if obj is None or served is None:
            return
        for mutation in mutations.mutations:
            began, failure = perf_counter(), ""
            frame = frame._replace(objects=(obj, objects[1]))
            try:
                made = await mutated(mutation, frame.evaluation(mutations.variables), obj, served)
                if made is not None:
                    _refuse_unknown(made, served, applies=mutation.applies)
                    obj = await run.versions.replace(made)
            except MutationFailed as failed:
                failure = str(failed)
                run.errors.append(_Error(policy, binding, failure, "Invalid"))
            observe_mutation(policy.name, binding.name, failure, perf_counter() - began)
        if obj != before:
            run.memory.changed()
            attributes.reinvocation.wanted = True
        if mutations.reinvoked:
            run.memory.asked(invocation.key)


def _refuse_unknown(made: Obj, served: Served, *, applies: bool) -> None:
    """A JSON patch may not make fields that a native kind has not.

    Raises:
        APIError: 500.
    """
    if applies or not served.resource.native:
        return
    try:
        unknown = served.decoder.decode(made)
    except DecodeError as error:
        raise internal_error(str(error)) from error
    if unknown:
        raise internal_error(strict_error(unknown))


def _refusal(attributes: Attributes, errors: list[_Error]) -> APIError:
    error = refused(attributes, "admission request denied by policy")
    texts = [str(one) for one in errors]
    details = {**error.details, "causes": [{"message": text} for text in texts]}
    return APIError(403, errors[0].reason or "Forbidden", texts[0], details=details)
