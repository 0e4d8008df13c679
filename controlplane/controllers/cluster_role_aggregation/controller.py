"""Keeps the rules of an aggregating cluster role: those of the roles that it selects, by their names, each rule once.

Source: behaviour of kubernetes ``pkg/controller/clusterroleaggregation``.
"""

from __future__ import annotations

import asyncio

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.selectors.labels import LabelSelector
from controlplane.apimachinery.selectors.objects import label_selector_of
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "cluster-role-aggregation"
ACCOUNT = "clusterrole-aggregation-controller"
CLUSTER_ROLES = GVR("rbac.authorization.k8s.io", "v1", "clusterroles")
WORKERS = 5
_ROLES_A_TURN = 100
"""Roles looked at between turns of the loop: half a millisecond."""


class ClusterRoleAggregation:
    """``reconcile`` works on one aggregating role."""

    def __init__(self, roles: ResourceClient, informer: Informer) -> None:
        self._roles, self._known = roles, informer

    async def reconcile(self, key: Key) -> None:
        """Apply the sum, if the role has another."""
        role = self._known.store.get(key)
        if role is None or role.get("aggregationRule") is None:
            return
        rules = await self._sum(role)
        if rules == (role.get("rules") or []):
            return
        wanted = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": key.name},
            **({"rules": rules} if rules else {}),
        }
        await self._roles.patch(key, wanted, PatchType.APPLY, field_manager=ACCOUNT, force=True)

    async def _sum(self, role: Obj) -> list[Obj]:
        rules: list[Obj] = []
        for selector in map(label_selector_of, role["aggregationRule"].get("clusterRoleSelectors") or ()):
            for other in await self._selected(selector):
                if meta.name(other) != meta.name(role):
                    rules += [rule for rule in other.get("rules") or () if rule not in rules]
        return rules

    async def _selected(self, selector: LabelSelector) -> list[Obj]:
        selected: list[Obj] = []
        for count, other in enumerate(list(self._known.store), 1):
            if selector.matches(meta.labels(other)):
                selected.append(other)
            if count % _ROLES_A_TURN == 0:
                await asyncio.sleep(0)
        return sorted(selected, key=meta.name)

    def aggregating(self, _old: Obj | None, _new: Obj | None) -> list[Key]:
        """Any change of a role may change every sum."""
        return [meta.key_of(role) for role in self._known.store if role.get("aggregationRule") is not None]


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching cluster roles."""
    informer = context.informers.get(CLUSTER_ROLES, namespaced=False)
    client = ResourceClient(context.client_for(NAME), CLUSTER_ROLES, namespaced=False)
    sums = ClusterRoleAggregation(client, informer)
    return Controller(
        NAME,
        watches=[Watch(informer, sums.aggregating)],
        reconcile=sums.reconcile,
        workers=WORKERS,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(CLUSTER_ROLES.gr,),
    account=ACCOUNT,
    rules=(
        PolicyRule(
            ("escalate", "get", "list", "patch", "update", "watch"), ("rbac.authorization.k8s.io",), ("clusterroles",)
        ),
    ),
)
