"""Certificates that are trusted, from PEM as operators and users write it."""

from __future__ import annotations

import ssl

__all__ = ["trust_pem"]


def trust_pem(context: ssl.SSLContext, pem: bytes) -> None:
    """Trust the certificates in ``pem``. What is around them may be anything, as Go's pools have it: bundles carry
    names in comments, in any encoding.

    Raises:
        ValueError: it holds no certificate, or one that cannot be read.
    """
    text = pem.decode("ascii", errors="replace").replace("\ufffd", "?")  # Python's ssl takes ASCII alone
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ValueError(f"holds no PEM certificate that can be read ({str(reason).partition(' (_ssl')[0]})") from error
