"""From the list of plugins to the chain: which are on, and with which configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.admission.chain import Chain
from controlplane.plugins.admission.api import AdmissionPlugin, PluginConfigurationError, PluginServices

__all__ = ["build_chain", "select_plugins"]


def select_plugins(
    ordered: Sequence[AdmissionPlugin], *, enabled: Iterable[str] = (), disabled: Iterable[str] = ()
) -> list[AdmissionPlugin]:
    """The plugins that are on by default or enabled, without those disabled, in the order of ``ordered``.

    Raises:
        ValueError: an unknown name, a name both enabled and disabled, or two plugins of one name.
    """
    on, off = set(enabled), set(disabled)
    names = [plugin.name for plugin in ordered]
    if len(set(names)) < len(names):
        raise ValueError(
            f"admission plugins listed twice: {', '.join(sorted({n for n in names if names.count(n) > 1}))}"
        )
    if unknown := (on | off) - set(names):
        raise ValueError(f"unknown admission plugins: {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    if both := on & off:
        raise ValueError(f"admission plugins both enabled and disabled: {', '.join(sorted(both))}")
    return [plugin for plugin in ordered if plugin.name in on or (plugin.default_on and plugin.name not in off)]


def build_chain(
    plugins: Sequence[AdmissionPlugin],
    services: PluginServices,
    *,
    served: Collection[str] | None = None,
    configurations: Mapping[str, Obj] | None = None,
) -> Chain:
    """Build the chain of plugins, all of which are on.

    Args:
        served: the resources that are served (``plural`` or ``plural.group``); plugins that need others have nothing to
            go by, and are left out. None: all.
        configurations: by name.

    Raises:
        PluginConfigurationError: a configuration for a plugin that is not on or takes none, or one that it cannot use.
    """
    configurations = configurations or {}
    plugins = [plugin for plugin in plugins if served is None or set(plugin.requires).issubset(served)]
    takers = [plugin.name for plugin in plugins if plugin.configurable]
    for name in configurations:
        if name not in takers:
            raise PluginConfigurationError(
                f"admission plugin {name!r} takes no configuration here, or is off; those that take one: "
                f"{', '.join(takers) or 'none'}"
            )
    chain = Chain()
    for plugin in plugins:
        own = replace(services, outdate=chain.outdate, configuration=configurations.get(plugin.name))
        try:
            chain.add(plugin.name, plugin.build(own))
        except PluginConfigurationError as error:
            chain.close()
            raise PluginConfigurationError(f"admission plugin {plugin.name}: {error}") from error
    return chain
