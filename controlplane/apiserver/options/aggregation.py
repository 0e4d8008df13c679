"""How this server speaks for other API servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["AggregationOptions"]


class AggregationOptions(OptionGroup):
    """Other API servers whose resources are had through this one."""

    title: ClassVar[str] = "Aggregation"

    proxy_client_cert_file: str = option(
        "",
        flag="proxy-client-cert-file",
        description="client certificate that is shown to aggregated API servers, PEM; they believe who it says asks",
    )
    proxy_client_key_file: str = option("", flag="proxy-client-key-file", description="key of the same, PEM")
    reject_forwarding_redirect: bool = option(
        True,
        flag="aggregator-reject-forwarding-redirect",
        description="answer 502 where an aggregated API server redirects, instead of passing that on",
    )
    remote_availability: bool | None = option(
        None,
        flag="aggregator-remote-availability",
        description="try the services of API services and tell by their condition whether they are available "
        "(default: as --controllers.enabled)",
    )

    def probes(self, *, by_default: bool) -> bool:
        """Whether services are tried."""
        return by_default if self.remote_availability is None else self.remote_availability

    def problems(self) -> Iterator[Problem]:
        if bool(self.proxy_client_cert_file) != bool(self.proxy_client_key_file):
            missing = "proxy_client_key_file" if self.proxy_client_cert_file else "proxy_client_cert_file"
            yield Problem(missing, "--proxy-client-cert-file and --proxy-client-key-file must be given together")
