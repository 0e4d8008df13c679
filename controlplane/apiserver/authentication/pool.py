"""The CAs whose client certificates an authenticator believes: its own pool, read from PEM files.

The handshake has verified a leaf under the union of all pools. Where this pool is that whole union (``whole``), the
handshake's verdict is the pool's own. Else, and for leaves that were admitted before the pool changed, the leaf's
signature is verified here, with ``cryptography``.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["CAPool"]

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class CAPool:
    """One immutable pool. ``whole``: the handshake of every connection trusted these CAs and no others."""

    def __init__(self, ders: Sequence[bytes], *, whole: bool) -> None:
        self._ders = tuple(ders)
        self.whole = whole
        self._parsed: list[x509.Certificate] | None = None

    @classmethod
    def read(cls, files: Sequence[str | Path], *, whole: bool) -> CAPool:
        """Read PEM bundles. Blocks.

        Raises:
            OSError: a file cannot be read. ValueError: it holds no certificate; the message names it.
        """
        ders: list[bytes] = []
        for file in files:
            found = _certificates(Path(file).read_text(encoding="ascii", errors="replace"))
            if not found:
                raise ValueError(f"{file}: holds no PEM certificate")
            ders += found
        return cls(ders, whole=whole)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CAPool) and self._ders == other._ders

    def __hash__(self) -> int:
        return hash(self._ders)

    def signed(self, leaf_der: bytes) -> bool:
        """Whether a CA of the pool signed the leaf itself (a chain over an intermediate needs that intermediate in
        the pool), and it may be used by clients. Dates are the caller's to check. About 0.2 ms, but the first call
        imports ``cryptography``: not on the loop."""
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature

        if self._parsed is None:
            self._parsed = [x509.load_der_x509_certificate(der) for der in self._ders]
        leaf = x509.load_der_x509_certificate(leaf_der)
        if not _for_clients(leaf):
            return False
        for ca in self._parsed:
            try:
                leaf.verify_directly_issued_by(ca)
            except (InvalidSignature, ValueError, TypeError):
                continue
            return True
        return False


def _certificates(text: str) -> list[bytes]:
    """The certificates of a PEM bundle, in DER."""
    ders: list[bytes] = []
    for part in text.split(_BEGIN)[1:]:
        body, end, _ = part.partition(_END)
        if end:
            ders.append(ssl.PEM_cert_to_DER_cert(f"{_BEGIN}{body}{_END}\n"))
    return ders


def _for_clients(leaf: x509.Certificate) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.CLIENT_AUTH in usage or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usage
