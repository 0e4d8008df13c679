"""Makes the service account ``default`` in every namespace that is not being deleted, and again when it goes.

Source: behaviour of kubernetes ``pkg/controller/serviceaccount/serviceaccounts_controller.go``.
"""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import ACCOUNTS, NAMESPACES, name_of_change
from controlplane.controllers.creation import create_unless_ending
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "service-accounts"
ACCOUNT = "service-account-controller"
DEFAULT = "default"


class ServiceAccounts:
    """``reconcile`` works on one namespace, by its name."""

    def __init__(self, accounts: ResourceClient, namespaces: Informer, known: Informer) -> None:
        self._accounts, self._namespaces, self._known = accounts, namespaces.store, known.store

    async def reconcile(self, namespace: str) -> None:
        """Make the account if the namespace lacks it."""
        found = self._namespaces.get(Key("", namespace))
        if found is None or meta.is_being_deleted(found) or Key(namespace, DEFAULT) in self._known:
            return
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": namespace, "name": DEFAULT},
        }
        await create_unless_ending(self._accounts, account)


def _lost(_old: Obj | None, new: Obj | None) -> tuple[str, ...]:
    return (meta.namespace(_old),) if new is None and _old is not None and meta.name(_old) == DEFAULT else ()


def build(context: ControllerContext) -> Controller[str]:
    """The controller, watching namespaces and accounts by their metadata."""
    namespaces = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    accounts = context.informers.get(ACCOUNTS, namespaced=True, metadata_only=True)
    client = ResourceClient(context.client_for(NAME), ACCOUNTS, namespaced=True)
    return Controller(
        NAME,
        watches=[Watch(namespaces, name_of_change), Watch(accounts, _lost)],
        reconcile=ServiceAccounts(client, namespaces, accounts).reconcile,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(NAMESPACES.gr, ACCOUNTS.gr),
    account=ACCOUNT,
    rules=(
        PolicyRule(("create",), ("",), ("serviceaccounts",)),
        PolicyRule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)),
    ),
)
