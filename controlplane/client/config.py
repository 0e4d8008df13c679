"""Where a server is, how it proves itself, and who asks: what a network client is made from.

Certificates are PEM, in memory, whatever they were read from.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from controlplane.base.tls.authorities import trust_pem
from controlplane.base.values import dataclass
from controlplane.client.errors import KubeconfigError

__all__ = ["ClientConfig", "Impersonation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """Act as somebody else, where the server allows it."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self) -> list[tuple[str, str]]:
        """The headers that ask for it."""
        pairs = [("Impersonate-User", self.user)]
        if self.uid:
            pairs.append(("Impersonate-Uid", self.uid))
        pairs += [("Impersonate-Group", group) for group in self.groups]
        pairs += [(f"Impersonate-Extra-{key}", value) for key, values in self.extra.items() for value in values]
        return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """One server and one identity.

    ``server``: ``https://host:port``, a path after it is kept. ``ca``: who may have signed the server's certificate;
    empty: the machine's own authorities. ``tls_server_name``: checked instead of the host. ``verify`` False trusts
    anybody. ``certificate`` and ``key``: the client's. ``token_file`` is read again as it is renewed; it wins over
    ``token``. ``namespace``: the context's.
    """

    server: str
    ca: bytes = b""
    tls_server_name: str = ""
    verify: bool = True
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    impersonation: Impersonation | None = None
    namespace: str = "default"

    @property
    def secure(self) -> bool:
        return self.server.startswith("https://")

    def ssl_context(self) -> ssl.SSLContext:
        """The TLS side of it. Touches the disk (Python reads client certificates from files only): call in a thread.

        Raises:
            KubeconfigError: certificates or key that cannot be used.
        """
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if self.ca else ssl.create_default_context()
            if self.ca:
                trust_pem(context, self.ca)
            context.hostname_checks_common_name = False  # as Go: names are the alternative ones alone
            if not self.verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.certificate:
                with tempfile.NamedTemporaryFile(suffix=".pem") as both:  # mode 0600, gone when loaded
                    both.write(self.certificate.rstrip() + b"\n" + self.key)
                    both.flush()
                    context.load_cert_chain(both.name)
        except (ssl.SSLError, ValueError) as e:
            raise KubeconfigError(f"{self.server}: authority, client certificate or key cannot be used: {e}") from e
        context.set_alpn_protocols(["http/1.1"])
        return context
