"""Certificates of servers that Go no longer takes, named and counted as Kubernetes does: without names but the common
one, or signed with SHA-1.

OpenSSL does not say which certificate it has refused, so it is asked for once more, with nothing sent.

Source: kubernetes/apiserver ``pkg/util/x509metrics`` and ``pkg/util/webhook/metrics.go``.
"""

from __future__ import annotations

import asyncio
import ssl

from controlplane.base import metrics

__all__ = ["INSECURE_SHA1", "MISSING_SAN", "outdated"]

MISSING_SAN = metrics.counter(
    "apiserver_webhooks_x509_missing_san_total",
    "Connections to webhooks that failed because the serving certificate has no subject alternative names.",
    stability=metrics.BETA,
)
INSECURE_SHA1 = metrics.counter(
    "apiserver_webhooks_x509_insecure_sha1_total",
    "Connections to webhooks that failed because a certificate is signed with SHA-1.",
    stability=metrics.BETA,
)

_HOSTNAME_MISMATCH, _ADDRESS_MISMATCH, _WEAK_DIGEST = 62, 64, 68
"""OpenSSL's verification errors."""
_NAMES_EXTENSION = bytes.fromhex("0603551d11")
"""The object identifier 2.5.29.17 in DER."""


async def outdated(error: ssl.SSLCertVerificationError, host: str, port: int, name: str) -> str:
    """What Go says of a certificate that was refused for one of the two reasons, which is counted; else ``""``."""
    if error.verify_code == _WEAK_DIGEST:
        INSECURE_SHA1.inc()
        return "x509: cannot verify signature: insecure algorithm SHA1"
    if error.verify_code in (_HOSTNAME_MISMATCH, _ADDRESS_MISMATCH) and _NAMES_EXTENSION not in await _leaf(
        host, port, name
    ):
        MISSING_SAN.inc()
        return "x509: certificate relies on legacy Common Name field, use SANs instead"
    return ""


async def _leaf(host: str, port: int, name: str) -> bytes:
    """The certificate that a server shows, in DER; if it shows none now, what stands for one with names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    except OSError:
        return _NAMES_EXTENSION
    try:
        shown: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return shown or _NAMES_EXTENSION
    finally:
        writer.close()
