"""AlwaysAdmit and AlwaysDeny: for tests of clients. Both are off, and neither is of use in production.

Source: kubernetes ``plugin/pkg/admission/admit`` and ``deny``.
"""

from __future__ import annotations

from controlplane.apiserver.admission.api import ALL_OPERATIONS, Attributes, Hooks, refused
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices

__all__ = ["ALWAYS_ADMIT", "ALWAYS_DENY"]


async def _deny(attributes: Attributes) -> None:
    raise refused(attributes, "admission control is denying all modifications")


def _build_admit(_services: PluginServices) -> Hooks:
    return Hooks(operations=ALL_OPERATIONS)


def _build_deny(_services: PluginServices) -> Hooks:
    return Hooks(operations=ALL_OPERATIONS, mutate=_deny, validate=_deny)


ALWAYS_ADMIT = AdmissionPlugin(name="AlwaysAdmit", default_on=False, build=_build_admit)
ALWAYS_DENY = AdmissionPlugin(name="AlwaysDeny", default_on=False, build=_build_deny)
