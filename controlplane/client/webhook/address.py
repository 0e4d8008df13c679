"""Where a webhook is, as every kind that names one says it: a URL, or a service.

Source: kubernetes/apiserver ``pkg/util/webhook/client.go``.
"""

from __future__ import annotations

import base64
from typing import Self
from urllib.parse import urlsplit

from controlplane.apimachinery.identity import Obj
from controlplane.base.values import dataclass

__all__ = ["DEFAULT_PORT", "WebhookAddress"]

DEFAULT_PORT = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAddress:
    """``host`` and ``port``: what the certificate is checked against, and who is named in the request. ``path`` begins
    with a slash, or is empty. ``service``: namespace and name, if it is a service, whose endpoint is then resolved;
    ``("", "")`` if it is a URL. ``ca_bundle``: certificates in PEM that the webhook's is verified by; empty: the
    system's."""

    host: str
    port: int
    path: str
    service: tuple[str, str] = ("", "")
    ca_bundle: bytes = b""

    @classmethod
    def of(cls, client_config: Obj) -> Self:
        """The address in a ``clientConfig`` that has been validated."""
        bundle = base64.b64decode(client_config.get("caBundle") or "")
        bundle = bundle if bundle.strip() else b""
        service = client_config.get("service")
        if service is not None:
            namespace, name = service.get("namespace") or "", service.get("name") or ""
            return cls(
                host=f"{name}.{namespace}.svc",
                port=service.get("port") or DEFAULT_PORT,
                path=_rooted(service.get("path") or ""),
                service=(namespace, name),
                ca_bundle=bundle,
            )
        parts = urlsplit(client_config.get("url") or "")
        digits = parts.netloc.rpartition("]")[2].partition(":")[2]
        port = int(digits) if digits else DEFAULT_PORT  # one that is too large is refused by the call, not here
        return cls(host=parts.hostname or "", port=port, path=_rooted(parts.path), ca_bundle=bundle)

    @property
    def netloc(self) -> str:
        """Host and port, as requests and messages name them; a service's port is always said."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port != DEFAULT_PORT or self.service[1] else host

    @property
    def host_port(self) -> str:
        """The same, the port always said: the name under which credentials are kept."""
        return f"{self.host}:{self.port}"


def _rooted(path: str) -> str:
    return path if not path or path.startswith("/") else f"/{path}"
