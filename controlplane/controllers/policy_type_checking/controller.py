"""Tells the authors of validating policies what is wrong with the types in their expressions.

Source: behaviour of kubernetes ``pkg/controller/validatingadmissionpolicystatus``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.base.aside import aside
from controlplane.base.late import importing
from controlplane.client.api import APIClient
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "validating-admission-policy-status"
ACCOUNT = "validatingadmissionpolicy-status-controller"
MANAGER = "validatingadmissionpolicy-status"
POLICIES = GVR("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
WORKERS = 5
_CHECKING = "controlplane.controllers.policy_type_checking.checking"
_SCHEMAS = "controlplane.controllers.policy_type_checking.schemas"


class PolicyTypeChecking:
    """``reconcile`` checks one policy."""

    def __init__(self, client: APIClient, informer: Informer) -> None:
        self._client, self._store = client, informer.store
        self._policies = ResourceClient(client, POLICIES, namespaced=False)

    async def reconcile(self, key: Key) -> None:
        """Check a policy that has changed since it was checked last, and write the outcome into its status."""
        load = importing(_CHECKING, _SCHEMAS)  # compiling expressions is not needed before there is a policy
        if load is not None:
            await aside(load)
        from controlplane.controllers.policy_type_checking.checking import expression_warnings
        from controlplane.controllers.policy_type_checking.schemas import Schemas

        policy = self._store.get(key)
        if policy is None:
            return
        generation = policy["metadata"].get("generation") or 0
        if generation <= ((policy.get("status") or {}).get("observedGeneration") or 0):
            return
        warnings = await expression_warnings(policy, Schemas(self._client))
        checked = {"expressionWarnings": warnings} if warnings else {}
        told = {
            "apiVersion": str(POLICIES.gv),
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": key.name},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        }
        await self._policies.patch(key, told, PatchType.APPLY, subresource="status", field_manager=MANAGER, force=True)


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching policies."""
    informer = context.informers.get(POLICIES, namespaced=False)
    checking = PolicyTypeChecking(context.client_for(NAME), informer)
    return Controller(
        NAME,
        watches=[Watch(informer, own_key)],
        reconcile=checking.reconcile,
        workers=WORKERS,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(POLICIES.gr,),
    account=ACCOUNT,
    rules=(
        PolicyRule(("get", "list", "watch"), (POLICIES.group,), (POLICIES.resource,)),
        PolicyRule(("get", "patch", "update"), (POLICIES.group,), (f"{POLICIES.resource}/status",)),
    ),
)
