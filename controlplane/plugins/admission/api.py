"""What an admission plugin is: a name, whether it is on, what it needs, and how its hooks are made.

An embedding program adds its own the same way; one function will do (docs/compose.md).

Source: kubernetes/apiserver ``pkg/admission/plugins.go``, ``initializer``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from controlplane.apimachinery.identity import GVR, Obj
from controlplane.apiserver.admission.api import ALL_OPERATIONS, Hook, Hooks, Operation
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.client.webhook import WebhookTransport
from controlplane.storage.api import Storage
from controlplane.storage.cache.mirror import Mirror

__all__ = [
    "AdmissionPlugin",
    "PluginConfigurationError",
    "PluginServices",
    "function_plugin",
    "nothing_outdated",
]


class PluginConfigurationError(ValueError):
    """A plugin's configuration cannot be used; the message names the field and what was allowed."""


def nothing_outdated() -> None:
    """For those whose hooks are not in a chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginServices:
    """What plugins are built from. ``storage_of`` finds the storage of a served resource by group and plural, None if
    the resource is not served now; it is asked at each use, since the table changes. ``mirror`` tells observers of
    changes. ``outdate`` is to be called when what the plugin's hooks want may have changed. ``configuration``: the
    plugin's own, from the admission control configuration file; None if it has none."""

    storage_of: Callable[[str, str], Storage | None]
    clock: Clock
    mirror: Mirror
    tables: TableHolder
    authorizer: Authorizer
    webhooks: WebhookTransport
    outdate: Callable[[], None] = nothing_outdated
    configuration: Obj | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPlugin:
    """A plugin that can be turned on. ``requires`` names the resources (``plural`` or ``plural.group``) without which
    it has nothing to go by: where one is not served, the plugin is off. ``configurable``: whether the configuration
    file may have something for it."""

    name: str
    default_on: bool
    build: Callable[[PluginServices], Hooks]
    requires: tuple[str, ...] = ()
    configurable: bool = False


def function_plugin(
    name: str,
    *,
    mutate: Hook | None = None,
    validate: Hook | None = None,
    operations: Collection[Operation] = ALL_OPERATIONS,
    resources: Collection[str] | None = None,
) -> AdmissionPlugin:
    """A plugin of one function, or of two: one for each phase.

    Args:
        resources: those it is for (``plural`` or ``plural.group``), without their subresources; None: all, with theirs.
    """
    names = None if resources is None else frozenset(resources)

    def wants(_operation: Operation, resource: GVR, subresource: str) -> bool:
        return names is None or (not subresource and str(resource.gr) in names)

    hooks = Hooks(operations=frozenset(operations), mutate=mutate, validate=validate, wants=wants)
    return AdmissionPlugin(name=name, default_on=True, build=lambda _services: hooks)
