"""What can go wrong with a call, and in which words: those of Go's client, which operators know from Kubernetes."""

from __future__ import annotations

import os
import socket
import ssl

from controlplane.client.errors import ClientError

__all__ = ["WebhookCallFailed", "reason_of", "reason_of_connection"]


class WebhookCallFailed(ClientError):
    """No usable answer came; the text says why, and what was called. ``answered``: the webhook has answered, with a
    status that is no success. ``uncallable``: nothing was sent, since what the call needs cannot be used."""

    def __init__(self, message: str, *, answered: bool = False, uncallable: bool = False) -> None:
        super().__init__(message)
        self.answered = answered
        self.uncallable = uncallable


_VERIFY_TEXTS = {
    10: "x509: certificate has expired or is not yet valid",
    18: "x509: certificate signed by unknown authority",
    19: "x509: certificate signed by unknown authority",
    20: "x509: certificate signed by unknown authority",
    21: "x509: certificate signed by unknown authority",
}
"""By OpenSSL's verification error: what Go says of the same certificate."""


def reason_of(error: BaseException, host: str, port: int) -> str:
    """Why a connection to ``host`` failed."""
    from aiohttp import ClientConnectorCertificateError, ClientConnectorDNSError, ClientConnectorError

    if isinstance(error, ClientConnectorCertificateError):
        inner = error.certificate_error
        if isinstance(inner, ssl.SSLCertVerificationError):
            text = _VERIFY_TEXTS.get(inner.verify_code) or f"x509: {inner.verify_message}"
            return f"tls: failed to verify certificate: {text}"
        return f"tls: failed to verify certificate: {inner}"
    if isinstance(error, ClientConnectorDNSError) or isinstance(error.__cause__, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ClientConnectorError):
        inner_error = error.os_error
        if isinstance(inner_error, ssl.SSLError):
            return f"tls: {inner_error.reason or inner_error}"
        said = os.strerror(inner_error.errno).lower() if inner_error.errno else str(inner_error)
        return f"dial tcp {_joined(host, port)}: connect: {said}"
    return str(error) or "EOF"


def reason_of_connection(error: OSError, host: str, port: int) -> str:
    """The same, of a connection that was made without aiohttp."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ssl.SSLCertVerificationError):
        text = _VERIFY_TEXTS.get(error.verify_code) or f"x509: {error.verify_message}"
        return f"tls: failed to verify certificate: {text}"
    if isinstance(error, ssl.SSLError):
        return f"tls: {error.reason or error}"
    said = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"dial tcp {_joined(host, port)}: connect: {said}"


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
