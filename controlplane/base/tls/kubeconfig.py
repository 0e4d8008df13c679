"""Write a kubeconfig that kubectl and the client libraries read: server, CA and credentials, all inside.

It has two contexts for one administrator. The current one shows a bearer token, so that a token given with a request
(``kubectl --token``) counts instead; the other, ``…-certificate``, shows the client certificate, which would come
before any token.

Source: the format of kubernetes/client-go ``tools/clientcmd/api/v1``.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from controlplane.base.files import write_atomically

__all__ = ["KubeconfigError", "kubeconfig", "write_kubeconfig"]

MARK = "# Written by controlplane at each start; changes are lost. Keep your own clusters in another file.\n"


class KubeconfigError(Exception):
    """The file cannot be written; the message names it and says what to do."""


def kubeconfig(
    *,
    server: str,
    ca_pem: bytes,
    cert_pem: bytes,
    key_pem: bytes,
    token: str,
    cluster: str = "controlplane",
    user: str = "admin",
) -> str:
    """The text. ``server``: ``https://host:port``."""
    return f"""{MARK}apiVersion: v1
kind: Config
clusters:
- name: {cluster}
  cluster:
    server: {server}
    certificate-authority-data: {b64encode(ca_pem).decode()}
users:
- name: {user}-certificate
  user:
    client-certificate-data: {b64encode(cert_pem).decode()}
    client-key-data: {b64encode(key_pem).decode()}
- name: {user}
  user:
    token: {token}
contexts:
- name: {cluster}-certificate
  context:
    cluster: {cluster}
    user: {user}-certificate
- name: {cluster}
  context:
    cluster: {cluster}
    user: {user}
current-context: {cluster}
"""


def write_kubeconfig(path: Path, text: str) -> bool:
    """Write the file, 0600, if it does not hold that already. Returns whether it was written.

    Raises:
        KubeconfigError: the file is somebody else's (it does not begin with our mark), or cannot be written.
    """
    try:
        if path.exists():
            present = path.read_text(encoding="utf-8", errors="replace")
            if present == text:
                path.chmod(0o600)
                return False
            if not present.startswith(MARK) and present:
                raise KubeconfigError(
                    f"{path}: exists and was not written by this program: name another file or remove it"
                )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise KubeconfigError(f"{error.filename or path}: {error.strerror or error}") from error
    return True
