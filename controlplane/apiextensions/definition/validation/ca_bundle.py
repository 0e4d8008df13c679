"""Certificates that a webhook's is verified by: whether a bundle holds any.

Source: kubernetes/client-go ``transport`` (TLSConfigFor, rootCertPool), for the texts.
"""

from __future__ import annotations

import base64
import re

__all__ = ["ca_bundle_error"]

_BUNDLE = "unable to load root certificates: "
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\s]*)-----END \1-----[ \t]*(?:\r?\n|$)")
"""A block without headers, which certificates do not have."""


def ca_bundle_error(bundle: str) -> str:
    """Why a bundle (base64 of PEM) cannot be used; ``""`` if it can, or is empty."""
    if not bundle:
        return ""
    from cryptography import x509  # late: its import is a twentieth of a server's start

    rest = base64.b64decode(bundle)
    why = ""
    while rest:
        block = _PEM.search(rest)
        if block is None:
            return _BUNDLE + (why or "unable to parse bytes as PEM block")
        rest = rest[block.end() :]
        if block[1] == b"CERTIFICATE":
            try:
                x509.load_der_x509_certificate(base64.b64decode(block[2]))
                return ""  # one that can be read is enough
            except ValueError as error:
                why = why or f"failed to parse certificate: {error}"
    return _BUNDLE + (why or "no valid certificate authority data seen")
