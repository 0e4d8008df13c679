"""ValidatingAdmissionPolicy: denies what the policies in force do not allow, warns of it, or notes it for the audit.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/validating``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.admission.api import Attributes, refused
from controlplane.base.values import dataclass
from controlplane.plugins.admission.api import PluginServices
from controlplane.plugins.admission.expressions.evaluation import Permissions
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.matching.selection import Namespaces
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.policies.checks import Annotation, Checks, Decision, run_checks
from controlplane.plugins.admission.policies.index import Binding, BoundScope, Policy, PolicyIndex, RelevantPolicy
from controlplane.plugins.admission.policies.invocation import Frame, namespace_of
from controlplane.plugins.admission.policies.metrics import observe_check
from controlplane.plugins.admission.policies.parameters import ParameterError, Parameters
from controlplane.storage.cache.slices import Slices

__all__ = ["Validation"]

_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
_FAILURES = "validation.policy.admission.k8s.io/validation_failure"
_MOST_FAILURES = 50
_LONGEST_ANNOTATION = 10 * 1024


class _Denial:
    """Why a request is denied."""

    __slots__ = ("message", "reason")

    def __init__(self, policy: Policy[Checks], binding: Binding | None, message: str, reason: str) -> None:
        bound = "" if binding is None else f" with binding '{binding.name}'"
        self.message = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {message}"
        self.reason = reason or "Invalid"

    def error(self, attributes: Attributes) -> APIError:
        error = refused(attributes, self.message)
        details = {**error.details, "causes": [{"message": self.message}]}
        return APIError(_CODES.get(self.reason, 422), self.reason, error.message, details=details)


@dataclass(slots=True)
class _Run:
    """One request on its way through the policies. ``failures``: those to be noted for the audit."""

    attributes: Attributes
    versions: Versions
    permissions: Permissions
    denials: list[_Denial] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def misconfigured(self, policy: Policy[Checks], binding: Binding | None, why: str) -> None:
        if not policy.fails_open:
            what = "policy" if binding is None else "binding"
            self.denials.append(_Denial(policy, binding, f"failed to configure {what}: {why}", ""))


class Validation:
    """The plugin at work."""

    def __init__(self, services: PluginServices, index: PolicyIndex[Checks]) -> None:
        self._index = index
        self._tables, self._authorizer = services.tables, services.authorizer
        self._namespaces, self._parameters = Namespaces(services.storage_of), Parameters(services.tables)

    async def validate(self, attributes: Attributes) -> None:
        slices = Slices()
        place = attributes.operation, attributes.resource, attributes.subresource
        relevant = await self._index.relevant(*place, slices)
        permissions = Permissions(self._authorizer, attributes.user)
        run = _Run(attributes, Versions(attributes, self._tables), permissions)
        for one in relevant:
            await self._policy(one, run)
            if slices.due():
                await slices.rest()
        if run.failures:
            attributes.annotate(_FAILURES, dumps(run.failures[:_MOST_FAILURES]).decode())
        if run.denials:
            raise run.denials[0].error(attributes)

    async def _policy(self, relevant: RelevantPolicy[Checks], run: _Run) -> None:
        policy = relevant.policy
        try:
            match = await relevant.scope.match(run.attributes, self._namespaces)
        except APIError as error:
            run.misconfigured(policy, None, error.message)
            return
        if match is None:
            return
        if policy.param_kind is not None and self._parameters.served(policy.param_kind) is None:
            kind = f"{policy.param_kind.get('apiVersion')}, Kind={policy.param_kind.get('kind')}"
            run.misconfigured(policy, None, f"failed to find resource referenced by paramKind: '{kind}'")
            return
        noted: dict[str, list[str]] = {}
        for bound in relevant.bindings:
            await self._binding(policy, bound, match, run, noted)
        for key, values in noted.items():
            run.attributes.annotate(f"{policy.name}/{key}", ", ".join(dict.fromkeys(values)))

    async def _binding(
        self, policy: Policy[Checks], bound: BoundScope, match: Match, run: _Run, noted: dict[str, list[str]]
    ) -> None:
        attributes, binding = run.attributes, bound.binding
        try:
            if bound.scope is not None and await bound.scope.match(attributes, self._namespaces) is None:
                return
            parameters = await self._parameters.collect(policy.param_kind, binding.reference, attributes.namespace)
        except (APIError, ParameterError) as error:
            run.misconfigured(policy, binding, error.message if isinstance(error, APIError) else str(error))
            return
        try:
            objects = await run.versions.at(match)
        except APIError as error:
            run.misconfigured(policy, binding, f"failed to convert object version: {error.message}")
            return
        namespace = await namespace_of(attributes, self._namespaces)
        for parameter in parameters:
            frame = Frame(attributes, match, objects, namespace, parameter, run.permissions)
            decisions, annotations = await run_checks(policy.compiled, frame)
            for decision in decisions:
                _enforce(policy, binding, decision, run)
            _note(policy, binding, annotations, run, noted)


def _enforce(policy: Policy[Checks], binding: Binding, decision: Decision, run: _Run) -> None:
    message, error = decision.message, decision.message if decision.error else ""
    if not decision.denies:
        if decision.error:
            observe_check(policy.name, binding.name, error, "allow", decision.seconds)
        return
    for action in binding.actions:
        if action == "Deny":
            run.denials.append(_Denial(policy, binding, message, decision.reason))
        elif action == "Audit":
            run.failures.append(
                {
                    "message": message,
                    "policy": policy.name,
                    "binding": binding.name,
                    "expressionIndex": decision.number,
                    "validationActions": list(binding.actions),
                }
            )
        else:
            run.attributes.warn(
                f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}': "
                + message
            )
        # upstream counts a denial that is none of an expression's as an error of no known kind
        observe_check(policy.name, binding.name, error or message, action.lower(), decision.seconds)


def _note(
    policy: Policy[Checks],
    binding: Binding,
    annotations: Sequence[Annotation],
    run: _Run,
    noted: dict[str, list[str]],
) -> None:
    for annotation in annotations:
        if annotation.error:
            run.denials.append(_Denial(policy, binding, annotation.error, ""))
            observe_check(policy.name, binding.name, annotation.error, "deny", annotation.seconds)
        else:
            noted.setdefault(annotation.key, []).append(annotation.value[:_LONGEST_ANNOTATION])
