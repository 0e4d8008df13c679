"""Write a kubeconfig that kubectl and the client libraries read: server, CA and credentials, all inside.

It has two contexts for one administrator. The current one shows a bearer token, so that a token given with a request
(``kubectl --token``) counts instead; the other, ``…-certificate``, shows the client certificate, which would come
before any token.

``kubectl config`` (a namespace for a context, another current context, a cluster beside ours) rewrites the file without
our first line. What it says of our cluster and users is brought up to date in such a file, and the rest is kept.

Source: the format of kubernetes/client-go ``tools/clientcmd/api/v1``.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from controlplane.base.files import write_atomically

__all__ = ["KubeconfigError", "kubeconfig", "write_kubeconfig"]

_MARK = "# Written by controlplane at each start"
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


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
    return f"""{_MARK}: edits by hand are lost, those of `kubectl config` are kept.
apiVersion: v1
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
        KubeconfigError: the file is somebody else's (it neither begins with our mark nor has our cluster, with the same
            CA), or cannot be written.
    """
    try:
        if path.exists():
            present = path.read_text(encoding="utf-8", errors="replace")
            if present and not present.startswith(_MARK):
                text = _brought_up_to_date(path, present, text)
            if present == text:
                path.chmod(0o600)
                return False
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise KubeconfigError(f"{error.filename or path}: {error.strerror or error}") from error
    return True


def _brought_up_to_date(path: Path, present: str, text: str) -> str:
    """What kubectl has made of our file, with our entries as ``text`` has them; ``present`` itself if they are."""
    import yaml  # late: most starts find their own file

    wanted = yaml.safe_load(text)
    refused = KubeconfigError(f"{path}: exists and was not written by this program: name another file or remove it")
    try:
        found = yaml.safe_load(present)
        entries = {section: {entry["name"]: entry for entry in found.get(section) or ()} for section in _SECTIONS}
        theirs = [_authority(entries["clusters"].get(cluster["name"]) or {}) for cluster in wanted["clusters"]]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise refused from error
    if theirs != [_authority(cluster) for cluster in wanted["clusters"]]:
        raise refused
    changed = False
    for section, kind in _SECTIONS.items():
        for ours in wanted[section]:
            entry = entries[section].get(ours["name"])
            if entry is None:
                found[section] = [*(found.get(section) or ()), ours]
                changed = True
            elif (merged := {**(entry.get(kind) or {}), **ours[kind]}) != entry.get(kind):
                entry[kind] = merged
                changed = True
    return str(yaml.safe_dump(found, sort_keys=False)) if changed else present


def _authority(cluster: dict[str, dict[str, str]]) -> str:
    return (cluster.get("cluster") or {}).get("certificate-authority-data") or ""
