"""MutatingAdmissionPolicy: the policies in force. What evaluates them is loaded with the first one.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/mutating/plugin.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.apis.admissionregistration.mutatingadmissionpolicies import MUTATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.mutatingadmissionpolicybindings import MUTATING_ADMISSION_POLICY_BINDINGS
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.base.aside import aside
from controlplane.base.late import importing
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.policies.index import Policy, PolicyIndex

if TYPE_CHECKING:
    from controlplane.plugins.admission.policies.mutation import Mutator
    from controlplane.plugins.admission.policies.patches import Mutations

__all__ = ["PLUGIN"]


_AT_WORK = "controlplane.plugins.admission.policies.mutation"


def _compile(policy: Policy[Mutations]) -> Mutations:
    from controlplane.plugins.admission.policies.patches import compile_mutations

    return compile_mutations(policy)


class _Plugin:
    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._at_work: Mutator | None = None
        self.index: PolicyIndex[Mutations] = PolicyIndex(
            services, MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS, _compile
        )

    async def mutate(self, attributes: Attributes) -> None:
        if self._at_work is None and (load := importing(_AT_WORK)) is not None:
            await aside(load)
        await self._loaded().mutate(attributes)

    def _loaded(self) -> Mutator:
        if self._at_work is None:
            from controlplane.plugins.admission.policies.mutation import Mutator

            self._at_work = Mutator(self._services, self.index)
        return self._at_work


def _build(services: PluginServices) -> Hooks:
    plugin = _Plugin(services)
    return Hooks(
        operations=frozenset({Operation.CREATE, Operation.UPDATE, Operation.CONNECT}),
        mutate=plugin.mutate,
        wants=plugin.index.wants,
        close=plugin.index.close,
    )


PLUGIN = AdmissionPlugin(
    name="MutatingAdmissionPolicy",
    default_on=True,
    build=_build,
    requires=(
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
)
