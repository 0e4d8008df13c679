"""What some controllers sign with and vouch for; whoever runs them in a process has it or has not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controlplane.base.values import dataclass

__all__ = ["CertificateAuthority", "ControllerKeys", "LegacyToken"]

CertificateAuthority = Callable[[], tuple[bytes, bytes]]
"""Reads the certificate and key (PEM) that client certificates are signed with. It blocks."""

LegacyToken = Callable[[str, str, str, str], Awaitable[str]]
"""A token for (namespace, account, account's uid, secret) that does not expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerKeys:
    """``root_ca_pem``: verifies the server, ``b""`` if nobody said. ``authority``, ``legacy_token``: None if this
    process cannot sign; the controllers that need it do not run then."""

    root_ca_pem: bytes = b""
    authority: CertificateAuthority | None = None
    legacy_token: LegacyToken | None = None
