"""The roles of kube-system and kube-public, and whom they are given to.

Source: the rules of kubernetes ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/namespace_policy.go``.
"""

from __future__ import annotations

from controlplane.plugins.authorization.bootstrap.policy import EVENTS, READ, Binding, Role, account, rule, user

__all__ = ["BINDINGS", "ROLES"]

SYSTEM, PUBLIC = "kube-system", "kube-public"
_READER = "extension-apiserver-authentication-reader"
_SIGNER, _CLOUD, _CLEANER = (
    f"system:controller:{name}" for name in ("bootstrap-signer", "cloud-provider", "token-cleaner")
)
_MANAGER_LOCK = "system::leader-locking-kube-controller-manager"
_SCHEDULER_LOCK = "system::leader-locking-kube-scheduler"
_MANAGER, _SCHEDULER = "kube-controller-manager", "kube-scheduler"

ROLES: tuple[Role, ...] = (
    Role(_READER, (rule(READ, "", "configmaps", "extension-apiserver-authentication"),), SYSTEM),
    Role(_SIGNER, (rule(READ, "", "secrets"),), SYSTEM),
    Role(_CLOUD, (rule("create get list watch", "", "configmaps"),), SYSTEM),
    Role(_CLEANER, (rule("delete get list watch", "", "secrets"), EVENTS), SYSTEM),
    *(
        Role(
            lock,
            (rule("watch", "", "configmaps"), rule("get update", "", "configmaps", holder)),
            SYSTEM,
        )
        for lock, holder in ((_MANAGER_LOCK, _MANAGER), (_SCHEDULER_LOCK, _SCHEDULER))
    ),
    Role(
        _SIGNER,
        (rule(READ, "", "configmaps"), rule("update", "", "configmaps", "cluster-info"), EVENTS),
        PUBLIC,
    ),
)

BINDINGS: tuple[Binding, ...] = (
    Binding(
        "system::extension-apiserver-authentication-reader",
        (user(f"system:{_MANAGER}"), user(f"system:{_SCHEDULER}")),
        SYSTEM,
        role=_READER,
    ),
    Binding(_MANAGER_LOCK, (user(f"system:{_MANAGER}"), account(_MANAGER)), SYSTEM),
    Binding(_SCHEDULER_LOCK, (user(f"system:{_SCHEDULER}"), account(_SCHEDULER)), SYSTEM),
    Binding(_SIGNER, (account("bootstrap-signer"),), SYSTEM),
    Binding(_CLOUD, (account("cloud-provider"),), SYSTEM),
    Binding(_CLEANER, (account("token-cleaner"),), SYSTEM),
    Binding(_SIGNER, (account("bootstrap-signer"),), PUBLIC),
)
