"""The listener's TLS context, which follows its files: new connections see new content, open ones stay.

A connection begins on the context that the listener holds and is moved, before its certificate is chosen, to the
newest one (OpenSSL's server name callback, which runs with or without a name). So a CA that was removed is no longer
trusted either, which reloading into one context could not do.

A client certificate is asked for, not required: who comes without one may have a token.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from pathlib import Path

from controlplane.base import logs, metrics
from controlplane.base.tls.authorities import trust_pem
from controlplane.base.tls.direct import DirectSSLObject
from controlplane.base.values import dataclass

__all__ = ["ServerTLS", "TLSFiles", "TLSFilesError", "check_pair", "read_pool"]

log = logs.get(__name__)

RELOADS = metrics.counter(
    "controlplane_tls_reloads_total", "Changes of TLS files that were seen, by result.", labels=("result",)
)

ALPN = ("http/1.1",)


class TLSFilesError(Exception):
    """A file cannot be used; the message names it. ``files``: which, where whoever named them is not known here."""

    def __init__(self, message: str, *files: str) -> None:
        super().__init__(message)
        self.files = files


@dataclass(frozen=True, slots=True, kw_only=True)
class TLSFiles:
    """What the listener is made of. ``client_ca_files``: whose client certificates the handshake accepts (the union of
    all authenticators' CAs); empty: none is asked for. ``minimum_version``: 1.2 or 1.3."""

    cert_file: str
    key_file: str
    client_ca_files: tuple[str, ...] = ()
    minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


class ServerTLS:
    """Holds the context. ``context`` is given to the listener once; ``reload_if_changed`` is called by its owner now
    and then (it reads files: in a thread)."""

    def __init__(self, files: TLSFiles) -> None:
        """Raises TLSFilesError: nothing can be served."""
        self._files = files
        self._seen = _state_of(files)
        self.context = self._current = _build(files)
        self.context.sni_callback = self._choose

    @property
    def files(self) -> TLSFiles:
        return self._files

    def reload_if_changed(self) -> bool:
        """Look at the files; if one has changed, use the new content for new connections. Returns whether it did.

        Content that cannot be used is logged and counted once, and the old stays in use.
        """
        state = _state_of(self._files)
        if state == self._seen:
            return False
        self._seen = state
        try:
            self._current = _build(self._files)
        except TLSFilesError as error:
            RELOADS.labels_cached(("failure",)).inc()
            log.warning("TLS files changed and cannot be used; the old content stays in use", error=error)
            return False
        RELOADS.labels_cached(("success",)).inc()
        log.info("TLS files reloaded", cert_file=self._files.cert_file)
        return True

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current


def _state_of(files: TLSFiles) -> tuple[tuple[int, int, int] | None, ...]:
    """Inode, modification time and size of each file behind its links (a mounted secret changes by a swapped link)."""
    return tuple(_state(path) for path in (files.cert_file, files.key_file, *files.client_ca_files))


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _build(files: TLSFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = DirectSSLObject
    context.minimum_version = files.minimum_version
    context.set_alpn_protocols(list(ALPN))
    # Kubernetes' clients do not resume sessions; tickets would cost each handshake and outlive a CA's removal.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    _load_pair(context, files.cert_file, files.key_file)
    if files.client_ca_files:
        context.verify_mode = ssl.CERT_OPTIONAL
        # As Go's pools: whatever is in the file is trusted by itself, an intermediate without its root too.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        load_pool(context, files.client_ca_files)
    return context


def check_pair(cert_file: str, key_file: str) -> None:
    """See that a certificate and its key can be used. Blocks.

    Raises:
        TLSFilesError.
    """
    _load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), cert_file, key_file)


def _load_pair(context: ssl.SSLContext, cert_file: str, key_file: str) -> None:
    try:
        context.load_cert_chain(cert_file, key_file, password=_no_password)
    except (OSError, ValueError) as error:
        pair = cert_file, key_file
        raise TLSFilesError(_why(", ".join(pair), error), *pair) from error


def load_pool(context: ssl.SSLContext, ca_files: Sequence[str]) -> None:
    """Trust the certificates of PEM files.

    Raises:
        TLSFilesError: a file cannot be read or holds no certificate.
    """
    for path in ca_files:
        trust_pem(context, read_pool(path))


def read_pool(path: str) -> bytes:
    """The content of a PEM file, which holds certificates to trust. Blocks.

    Raises:
        TLSFilesError: it cannot be read or holds no certificate.
    """
    try:
        content = Path(path).read_bytes()
        trust_pem(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), content)
    except (OSError, ValueError) as error:
        raise TLSFilesError(_why(path, error), path) from error
    return content


def _no_password() -> str:
    """OpenSSL would ask at the terminal."""
    raise ValueError("the key is encrypted")


def _why(path: str, error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"{path}: the certificate does not belong to the key"
        return f"{path}: not a PEM certificate or key ({error.reason or error})"
    if isinstance(error, OSError):
        return f"{error.filename or path}: {error.strerror or error}"
    return f"{path}: {error}"
