"""What may be around the certificates of a bundle, and what is no bundle."""

from __future__ import annotations

import ssl

import pytest

from controlplane.base.tls.authorities import trust_pem
from tests.unit.base.tls.certs import ca


@pytest.mark.parametrize(
    "comment", [b"", b"# plain\n", "# Autorité\n".encode(), "# Autorité\n".encode("latin-1"), b"\0\xff\n"]
)
def test_comments_in_any_encoding(comment: bytes) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    pem = ca("one").pem + comment + ca("two").pem + comment
    trust_pem(context, comment + pem)
    assert context.cert_store_stats()["x509_ca"] == 2


@pytest.mark.parametrize(
    "pem", [b"", b"hello", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAAAA\xff\n-----END CERTIFICATE-----\n"]
)
def test_what_holds_no_certificate_is_refused(pem: bytes) -> None:
    with pytest.raises(ValueError, match="holds no PEM certificate that can be read"):
        trust_pem(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pem)
