"""Certificates that a webhook's is verified by: whether a bundle holds any.

Source: kubernetes/client-go ``transport`` (TLSConfigFor, rootCertPool), for the texts.
"""

from __future__ import annotations

import base64
import re

__all__ = ["ca_bundle_error", "pem_bundle_error"]

_BUNDLE = "unable to load root certificates: "
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\s]*)-----END \1-----[ \t]*(?:\r?\n|$)")
"""A block without headers, which certificates do not have."""


def ca_bundle_error(bundle: str) -> str:
    """Why a bundle (base64 of PEM) cannot be used; ``""`` if it can, or is empty."""
    return pem_bundle_error(base64.b64decode(bundle)) if bundle else ""


def pem_bundle_error(bundle: bytes) -> str:
    """The same, of the bundle itself, which has something."""
    from cryptography import x509  # late: its import is a twentieth of a server's start

    why = ""
    while bundle:
        block = _PEM.search(bundle)
        if block is None:
            return _BUNDLE + (why or "unable to parse bytes as PEM block")
        bundle = bundle[block.end() :]
        if block[1] == b"CERTIFICATE":
            try:
                x509.load_der_x509_certificate(base64.b64decode(block[2]))
                return ""  # one that can be read is enough
            except ValueError as error:
                why = why or f"failed to parse certificate: {error}"
    return _BUNDLE + (why or "no valid certificate authority data seen")
