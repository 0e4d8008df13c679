"""Reading a kubeconfig: one file, one context of it.

What cannot be honoured is refused by name (exec plugins, auth providers, proxies), never silently left out.

Source: kubernetes/client-go ``tools/clientcmd/api/v1`` (the format).
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from controlplane.client.config import ClientConfig, Impersonation
from controlplane.client.errors import KubeconfigError

__all__ = ["load_kubeconfig"]

_REFUSED_USER_FIELDS = {
    "exec": "exec credential plugins are not run",
    "auth-provider": "auth providers are not supported",
    "username": "basic authentication is not supported",
}

_TYPES: dict[str, type] = {
    **dict.fromkeys(("server", "tls-server-name", "cluster", "user", "namespace", "token", "tokenFile"), str),
    **dict.fromkeys(("certificate-authority", "certificate-authority-data"), str),
    **dict.fromkeys(("client-certificate", "client-certificate-data", "client-key", "client-key-data"), str),
    **dict.fromkeys(("as", "as-uid"), str),
    "insecure-skip-tls-verify": bool,
    "as-groups": list,
    "as-user-extra": dict,
}
"""What is read of clusters, users and contexts."""


def load_kubeconfig(path: Path, *, context: str = "") -> ClientConfig:
    """Read ``context`` (the current one, if ``""``). Reads files: call in a thread where a loop runs.

    Raises:
        KubeconfigError: the file, the context or one of its parts is missing, malformed or asks for what is refused.
    """
    return _Reader(path).config(context)


class _Reader:
    """One kubeconfig file; errors name it."""

    def __init__(self, path: Path) -> None:
        from controlplane.apimachinery.codec import yaml  # late: few programs read one

        self._path = path
        try:
            content = yaml.loads(path.read_bytes())
        except (OSError, ValueError) as e:
            raise KubeconfigError(f"kubeconfig {path}: {e}") from e
        if not isinstance(content, dict):
            raise self._error("is not a mapping")
        self._content: dict[str, Any] = content

    def config(self, context_name: str) -> ClientConfig:
        name = context_name or self._content.get("current-context") or ""
        if not name:
            raise self._error("has no current-context; name one")
        context = self._named("contexts", "context", name)
        cluster = self._named("clusters", "cluster", context.get("cluster") or "")
        user = self._named("users", "user", context["user"]) if context.get("user") else {}
        self._refuse_wrong_types(context, cluster, user)
        for field, why in _REFUSED_USER_FIELDS.items():
            if user.get(field):
                raise self._error(f"user {context['user']!r} has {field!r}: {why}")
        if cluster.get("proxy-url"):
            raise self._error(f"cluster {context['cluster']!r} has 'proxy-url': proxies are not supported")
        server = str(cluster.get("server") or "")
        if not server.startswith(("https://", "http://")):
            raise self._error(f"cluster {context['cluster']!r}: server must be an https or http URL, is {server!r}")
        return ClientConfig(
            server=server.rstrip("/"),
            ca=self._bytes(cluster, "certificate-authority"),
            tls_server_name=cluster.get("tls-server-name") or "",
            verify=not cluster.get("insecure-skip-tls-verify"),
            certificate=self._bytes(user, "client-certificate"),
            key=self._bytes(user, "client-key"),
            token=user.get("token") or "",
            token_file=self._path.parent / user["tokenFile"] if user.get("tokenFile") else None,
            impersonation=_impersonation(user),
            namespace=context.get("namespace") or "default",
        )

    def _named(self, section: str, kind: str, name: str) -> dict[str, Any]:
        entries = self._content.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._error(f"{section} is not a list of mappings")
        for entry in entries:
            if entry.get("name") == name:
                value = entry.get(kind) or {}
                if not isinstance(value, dict):
                    raise self._error(f"{kind} {name!r} is not a mapping")
                return value
        known = ", ".join(repr(entry.get("name")) for entry in entries) or "none"
        raise self._error(f"no {kind} {name!r}; there is: {known}")

    def _refuse_wrong_types(self, *entries: dict[str, Any]) -> None:
        for entry in entries:
            for field in entry.keys() & _TYPES:
                kind, value = _TYPES[field], entry[field]
                if value is not None and not isinstance(value, kind):
                    raise self._error(f"{field} must be a {kind.__name__}, is a {type(value).__name__}")

    def _bytes(self, entry: dict[str, Any], field: str) -> bytes:
        """A value given as data or as a file; data wins. Relative files are beside the kubeconfig."""
        data, file = entry.get(f"{field}-data"), entry.get(field)
        try:
            if data:
                return base64.b64decode(data, validate=True)
            return (self._path.parent / file).read_bytes() if file else b""
        except (OSError, binascii.Error, TypeError) as e:
            raise self._error(f"{field}{'-data' if data else ''}: {e}") from e

    def _error(self, what: str) -> KubeconfigError:
        return KubeconfigError(f"kubeconfig {self._path}: {what}")


def _impersonation(user: dict[str, Any]) -> Impersonation | None:
    if not user.get("as"):
        return None
    extra = {key: tuple(values) for key, values in (user.get("as-user-extra") or {}).items()}
    return Impersonation(
        user=user["as"], uid=user.get("as-uid") or "", groups=tuple(user.get("as-groups") or ()), extra=extra
    )
