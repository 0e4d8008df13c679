"""The administrator's bearer token, among the server's own keys: made on the first start, kept on every other.

    admin.token   one line, 0600; the same user as admin.crt

A token beside the certificate, since a certificate comes before the tokens of a request: a client that shows one is the
administrator whatever token it sends, and so cannot speak for anybody else on that connection.

What is there is never overwritten: to change the token remove the file and start anew. It blocks.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from controlplane.base import logs
from controlplane.base.files import PRIVATE_MODE, write_atomically
from controlplane.base.tls.pki import PKIError, locked_directory

__all__ = ["ensure_admin_token"]

log = logs.get(__name__)

RANDOM_BYTES = 32

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{32,}=*")
"""What a header may carry (RFC 6750), and of which nobody guesses one."""


def ensure_admin_token(directory: Path) -> str:
    """Make the token, or read the one that is there.

    Raises:
        PKIError: the file holds no token, or cannot be read or written.
    """
    path = directory / "admin.token"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_directory(directory):
            if not path.exists():
                write_atomically(path, secrets.token_urlsafe(RANDOM_BYTES).encode() + b"\n")
            mode = path.stat().st_mode & 0o777
            if mode & ~PRIVATE_MODE:
                log.warning("token file was readable by others; its mode is now 0600", file=str(path), mode=oct(mode))
                path.chmod(PRIVATE_MODE)
            token = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise PKIError(f"{error.filename or directory}: {error.strerror or error}") from error
    if _TOKEN.fullmatch(token) is None:
        raise PKIError(
            f"{path}: must hold one bearer token of 32 characters or more: remove the file to have one made anew"
        )
    return token
