"""ServiceAccount: gives pods their account and its token.

There are no pods here, so there is nothing for it to do; it has its name and place because operators and their scripts
name it.

Source: kubernetes ``plugin/pkg/admission/serviceaccount``, which looks at pods alone.
"""

from __future__ import annotations

from controlplane.apiserver.admission.api import Hooks
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices

__all__ = ["PLUGIN"]


def _build(_services: PluginServices) -> Hooks:
    return Hooks(operations=frozenset())


PLUGIN = AdmissionPlugin(name="ServiceAccount", default_on=True, build=_build, requires=("serviceaccounts",))
