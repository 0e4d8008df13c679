"""ValidatingAdmissionPolicy: the policies in force. What evaluates them is loaded with the first one.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/validating/plugin.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.apis.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.validatingadmissionpolicybindings import (
    VALIDATING_ADMISSION_POLICY_BINDINGS,
)
from controlplane.apiserver.admission.api import ALL_OPERATIONS, Attributes, Hooks
from controlplane.base.aside import aside
from controlplane.base.late import importing
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.policies.index import Policy, PolicyIndex

if TYPE_CHECKING:
    from controlplane.plugins.admission.policies.checks import Checks
    from controlplane.plugins.admission.policies.validation import Validation

__all__ = ["PLUGIN"]


_AT_WORK = "controlplane.plugins.admission.policies.validation"


def _compile(policy: Policy[Checks]) -> Checks:
    from controlplane.plugins.admission.policies.checks import compile_checks

    return compile_checks(policy)


class _Plugin:
    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._at_work: Validation | None = None
        self.index: PolicyIndex[Checks] = PolicyIndex(
            services, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, _compile
        )

    async def validate(self, attributes: Attributes) -> None:
        if self._at_work is None and (load := importing(_AT_WORK)) is not None:
            await aside(load)
        await self._loaded().validate(attributes)

    def _loaded(self) -> Validation:
        if self._at_work is None:
            from controlplane.plugins.admission.policies.validation import Validation

            self._at_work = Validation(self._services, self.index)
        return self._at_work


def _build(services: PluginServices) -> Hooks:
    plugin = _Plugin(services)
    return Hooks(
        operations=ALL_OPERATIONS,
        validate=plugin.validate,
        wants=plugin.index.wants,
        close=plugin.index.close,
    )


PLUGIN = AdmissionPlugin(
    name="ValidatingAdmissionPolicy",
    default_on=True,
    build=_build,
    requires=(
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
)
