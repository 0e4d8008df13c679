"""Service accounts as users: how they are called, and which groups they are in.

Source: kubernetes/apiserver ``pkg/authentication/serviceaccount``.
"""

from __future__ import annotations

from controlplane.apimachinery.validation.names import name_is_dns_label, name_is_dns_subdomain

__all__ = [
    "NODE_NAME",
    "NODE_UID",
    "POD_NAME",
    "POD_UID",
    "SERVICE_ACCOUNTS_GROUP",
    "groups_of",
    "split_username",
    "username_of",
]

PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts"
"""Every service account's group; with a colon and a namespace, that of the namespace's."""

POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"
"""Keys of ``UserInfo.extra``: what a token is bound to."""


def username_of(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{PREFIX}{namespace}:{name}"


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}"


def split_username(username: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name is of; None if it is no service account's."""
    if not username.startswith(PREFIX):
        return None
    parts = username[len(PREFIX) :].split(":")
    if len(parts) != 2 or name_is_dns_label(parts[0], False) or name_is_dns_subdomain(parts[1], False):
        return None
    return parts[0], parts[1]
