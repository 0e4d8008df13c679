"""The sample's options: the generic ones, with its own folder."""

from __future__ import annotations

from controlplane.apiserver.options import ServingOptions
from controlplane.base.options import group, option
from controlplane.generic.options import GenericOptions

__all__ = ["SampleOptions"]


class SampleServingOptions(ServingOptions):
    """As any server's, but for where files are kept."""

    cert_dir: str = option(
        ".sample-controlplane",
        flag="cert-dir",
        description="folder of the files that the server makes itself: certificates, admin.conf, the embedded store",
    )


class SampleOptions(GenericOptions):
    """The options of the sample control plane."""

    serving: SampleServingOptions = group(SampleServingOptions)
