"""Everything that an operator can say to the generic control plane.

A program with more to say subclasses ``GenericOptions`` and adds fields or groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiserver.options import (
    AuthenticationOptions,
    AuthorizationOptions,
    LogOptions,
    RequestOptions,
    ServingOptions,
    StorageOptions,
)
from controlplane.base.options import OptionGroup, Problem, group, option
from controlplane.generic.toggles import Resolved, Toggle, resolve, toggle_problems

__all__ = ["TOGGLES", "ControllerOptions", "GenericOptions", "ResourceOptions"]


class ResourceOptions(OptionGroup):
    """Which built-in resources are served. What is off is gone: routes, discovery, controllers."""

    namespaces: bool | None = option(None, description="serve namespaces (default true)")
    configmaps: bool | None = option(None, description="serve configmaps (default true)")
    leases: bool | None = option(None, description="serve leases (default true)")
    customresourcedefinitions: bool | None = option(
        None, description="serve customresourcedefinitions and what they define (default true)"
    )


class ControllerOptions(OptionGroup):
    """Which loops run in the server's process."""

    enabled: bool = option(
        True, description="run the controller manager's controllers; the server's own loops run in any case"
    )


TOGGLES = (
    Toggle("resources.namespaces"),
    Toggle("resources.configmaps", needs=("resources.namespaces",)),
    Toggle("resources.leases", needs=("resources.namespaces",)),
    Toggle("resources.customresourcedefinitions", needs=("resources.namespaces",)),
)
"""Each after what it needs."""


class GenericOptions(OptionGroup):
    """The options of a generic control plane."""

    serving: ServingOptions = group(ServingOptions)
    storage: StorageOptions = group(StorageOptions)
    authentication: AuthenticationOptions = group(AuthenticationOptions)
    authorization: AuthorizationOptions = group(AuthorizationOptions)
    requests: RequestOptions = group(RequestOptions)
    resources: ResourceOptions = group(ResourceOptions)
    controllers: ControllerOptions = group(ControllerOptions)
    logs: LogOptions = group(LogOptions)
    write_kubeconfig: str = option(
        "",
        flag="write-kubeconfig",
        description="where the admin's kubeconfig is written; empty is admin.conf in --cert-dir",
    )

    def toggles(self) -> Resolved:
        """Which of the booleans with requirements are on."""
        return resolve(TOGGLES, self._given)

    def problems(self) -> Iterator[Problem]:
        yield from toggle_problems(TOGGLES, self._given)

    def _given(self, path: str) -> bool | None:
        owner, name = path.split(".")
        value: bool | None = getattr(getattr(self, owner), name)
        return value
