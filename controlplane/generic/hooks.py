"""Post-start hooks that probes and dashboards know by Kubernetes' names, for what this server has done before it
listens: its mirror is loaded, its admission plugins and its sources are built from it.

Source: the names in kubernetes/apiserver ``pkg/server/config.go`` and kubernetes ``pkg/controlplane/apiserver``.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apiserver.server.hooks import HookContext
from controlplane.generic.config import CompletedConfig
from controlplane.generic.controllers import served_resources

__all__ = ["done", "names_of_what_is_done"]


def _has_definitions(config: CompletedConfig) -> bool:
    return DEFINITIONS.gr in served_resources(config)


_NAMES: tuple[tuple[str, Callable[[CompletedConfig], bool]], ...] = (
    ("generic-apiserver-start-informers", lambda _config: True),
    ("storage-object-count-tracker-hook", lambda _config: True),
    ("storage-readiness", lambda _config: True),
    ("start-apiserver-admission-initializer", lambda config: bool(config.admission)),
    ("start-apiextensions-informers", _has_definitions),
    ("start-apiextensions-controllers", _has_definitions),
    ("crd-informer-synced", _has_definitions),
)


def names_of_what_is_done(config: CompletedConfig) -> list[str]:
    """The hooks that have nothing left to do in a server of this config; what is off has none."""
    return [name for name, is_there in _NAMES if is_there(config)]


async def done(_context: HookContext) -> None:
    """Nothing is left to do."""
