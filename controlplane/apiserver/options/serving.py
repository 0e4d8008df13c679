"""Where the server listens and what it shows of itself there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["ServingOptions", "is_ip_address"]


def is_ip_address(text: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class ServingOptions(OptionGroup):
    """Address, certificate and names of the server."""

    title: ClassVar[str] = "Secure serving"

    bind_address: str = option(
        "127.0.0.1",
        flag="bind-address",
        description="IP address to listen on; 0.0.0.0 or :: is all of them",
    )
    secure_port: int = option(
        6443, flag="secure-port", ge=0, le=65535, description="port to serve HTTPS on; 0 takes any free one"
    )
    cert_dir: str = option(
        ".controlplane",
        flag="cert-dir",
        description="folder of the files that the server makes itself: certificates, admin.conf, the embedded store",
    )
    tls_cert_file: str = option(
        "", flag="tls-cert-file", description="serving certificate with its chain, PEM; without it one is made"
    )
    tls_private_key_file: str = option(
        "", flag="tls-private-key-file", description="private key of --tls-cert-file, PEM"
    )
    tls_min_version: Literal["VersionTLS12", "VersionTLS13"] = option(
        "VersionTLS12", flag="tls-min-version", description="oldest TLS version that is spoken"
    )
    external_hostname: str = option(
        "",
        flag="external-hostname",
        description="name or address that clients use; put into kubeconfig and certificate",
    )
    advertise_address: str = option(
        "", flag="advertise-address", description="IP address told to others; empty is --bind-address"
    )
    hsts_directives: tuple[str, ...] = option(
        (),
        flag="strict-transport-security-directives",
        description="directives of the Strict-Transport-Security header; none sends no header",
    )
    cors_origins: tuple[str, ...] = option(
        (),
        flag="cors-allowed-origins",
        description="regular expressions of origins that browsers may call from; none is no CORS",
    )

    def problems(self) -> Iterator[Problem]:
        for name in ("bind_address", "advertise_address"):
            value = getattr(self, name)
            if value and not is_ip_address(value):
                yield Problem(name, f"{value!r} is not an IP address")
        if not self.bind_address:
            yield Problem("bind_address", "must not be empty; 0.0.0.0 listens on all addresses")
        if self.tls_cert_file and not self.tls_private_key_file:
            yield Problem("tls_private_key_file", "must be given with --tls-cert-file")
        if self.tls_private_key_file and not self.tls_cert_file:
            yield Problem("tls_cert_file", "must be given with --tls-private-key-file")
        yield from self._cors_problems()

    def _cors_problems(self) -> Iterator[Problem]:
        import re

        for origin in self.cors_origins:
            try:
                re.compile(origin)
            except re.error as error:
                yield Problem("cors_origins", f"{origin!r} is not a regular expression: {error}")
