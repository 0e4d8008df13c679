"""The server's own key for service account tokens, in one directory: made on the first start, kept on every other.

    sa.key   signs tokens, 0600
    sa.pub   its public part: for whoever verifies tokens elsewhere, and by which servers know that they share a key

What is there is never overwritten. It blocks.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from controlplane.base import logs
from controlplane.base.files import PRIVATE_MODE, write_atomically
from controlplane.base.tls.pki import PKIError, locked_directory
from controlplane.base.values import dataclass

__all__ = ["TokenKey", "ensure_token_key"]

log = logs.get(__name__)

_PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s.+-----END [A-Z ]*PRIVATE KEY-----\s*", re.DOTALL)
_PUBLIC = re.compile(rb"-----BEGIN PUBLIC KEY-----\s(.+)-----END PUBLIC KEY-----\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TokenKey:
    """``fingerprint``: equal on servers with the same key."""

    private_file: Path
    fingerprint: str


def ensure_token_key(directory: Path) -> TokenKey:
    """Make the key, or check that it is there.

    Raises:
        PKIError: one of the two files is missing or is no key, or cannot be read or written.
    """
    private, public = directory / "sa.key", directory / "sa.pub"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_directory(directory):
            if not private.exists():
                if public.exists():
                    raise PKIError(f"{private}: is missing: restore it, or remove {public.name} to have both made anew")
                _make(private, public)
            elif not public.exists():
                _write_public(private, public)
            _check(private)
            match = _PUBLIC.fullmatch(public.read_bytes())
    except OSError as error:
        raise PKIError(f"{error.filename or directory}: {error.strerror or error}") from error
    if match is None:
        raise PKIError(f"{public}: is no public key in PEM: remove it to have it made anew from {private.name}")
    return TokenKey(private, sha256(b"".join(match[1].split())).hexdigest())


def _make(private: Path, public: Path) -> None:
    from controlplane.base.tls import issue  # late: only where a key must be made

    write_atomically(private, issue.new_key())
    _write_public(private, public)


def _write_public(private: Path, public: Path) -> None:
    """Also after a crash between the two files."""
    from controlplane.base.tls import issue

    try:
        pem = issue.public_part(private.read_bytes())
    except ValueError as error:
        raise PKIError(f"{private}: cannot be read: {error}: restore it, or remove it to have it made anew") from error
    write_atomically(public, pem)


def _check(private: Path) -> None:
    mode = private.stat().st_mode & 0o777
    if mode & ~PRIVATE_MODE:
        log.warning("key file was readable by others; its mode is now 0600", file=str(private), mode=oct(mode))
        private.chmod(PRIVATE_MODE)
    if _PRIVATE.fullmatch(private.read_bytes()) is None:
        raise PKIError(
            f"{private}: is no private key in PEM: restore it, or remove it and sa.pub to have both made anew"
        )
