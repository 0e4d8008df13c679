"""The sample's options: the generic ones, with its own folder."""

from __future__ import annotations

from controlplane.apiserver.options import PeerProxyOptions, ServingOptions
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


class SamplePeerProxyOptions(PeerProxyOptions):
    """As any server's, but with all of discovery."""

    whole_discovery: bool = option(
        True,
        flag="peer-proxy-whole-discovery",
        description="show what peers serve in all forms of discovery, in /api and in OpenAPI, not in aggregated "
        "discovery of /apis alone",
    )


class SampleOptions(GenericOptions):
    """The options of the sample control plane: the generic ones, and the peer proxy's."""

    serving: SampleServingOptions = group(SampleServingOptions)
    peer_proxy: SamplePeerProxyOptions = group(SamplePeerProxyOptions)
