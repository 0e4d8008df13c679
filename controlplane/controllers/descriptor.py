"""What a controller is before it runs: its name, what it needs served, what it may do, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from controlplane.apimachinery.identity import GVR, GroupResource, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.controllers.keys import ControllerKeys
from controlplane.reconcile.controller import Runnable, Watch
from controlplane.reconcile.informers import InformerSet

__all__ = ["DISCOVERY_RULES", "ControllerContext", "ControllerDescriptor", "definition_watches"]

DISCOVERY_RULES = (
    PolicyRule(("get",), non_resource_urls=("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")),
)
"""What every controller may read besides: which resources there are, and their schemas."""

_DEFINITIONS = (
    GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    GVR("apiregistration.k8s.io", "v1", "apiservices"),
)
"""The resources whose objects change what is served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """What a controller is built from.

    ``client_for``: the client that acts as the controller of this name. ``informers``: shared by all controllers of the
    process. ``served``: the built-in resources that there are. ``keys``: what this process may sign with.
    """

    client_for: Callable[[str], APIClient]
    informers: InformerSet
    served: frozenset[GroupResource]
    keys: ControllerKeys = field(default_factory=ControllerKeys)
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerDescriptor:
    """One built-in controller.

    ``name``: that of its boolean, in flag spelling. ``needs``: the resources without which it is off;
    ``usable``: whether it can work with these keys.
    ``in_server``: it belongs to the server and always runs, on every replica; otherwise it is the controller manager's,
    can be turned off, and runs where the leader is. ``after_ready``, of the server's own: nobody waits for what it
    does, so it begins once the server is ready, and what it watches is not waited for either. ``hook``, of the server's
    own: the post-start hook by which it is known to who asks whether the server is ready. ``account``: its service
    account in kube-system, and ``rules`` what that may do (Kubernetes' names, since roles and audit logs carry them);
    the server's own are the server itself.
    """

    name: str
    build: Callable[[ControllerContext], Runnable]
    needs: tuple[GroupResource, ...] = ()
    usable: Callable[[ControllerKeys], bool] = lambda _keys: True
    in_server: bool = False
    after_ready: bool = False
    hook: str = ""
    account: str = ""
    rules: tuple[PolicyRule, ...] = ()


def definition_watches(context: ControllerContext, changed: Callable[[], None]) -> tuple[Watch[str], ...]:
    """Call ``changed`` when an object changes what the server has. The watches are for the manager to run."""

    def look(_old: Obj | None, _new: Obj | None) -> None:
        changed()

    watches = []
    for gvr in _DEFINITIONS:
        if gvr.gr in context.served:
            informer = context.informers.get(gvr, namespaced=False, metadata_only=True)
            informer.add_handler(look)
            watches.append(Watch[str](informer, lambda _old, _new: ()))
    return tuple(watches)
