"""The admission plugins that come with the project, in the order in which they run.

The order is a security property: a plugin sees what those before it have made of the object.

Source: kubernetes ``pkg/kubeapiserver/options/plugins.go`` (AllOrderedPlugins).
"""

from __future__ import annotations

from controlplane.apiserver.admission.api import AdmissionPlugin
from controlplane.plugins.admission import namespace_lifecycle

__all__ = ["ORDERED"]

ORDERED: tuple[AdmissionPlugin, ...] = (namespace_lifecycle.PLUGIN,)
