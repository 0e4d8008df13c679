"""Who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from controlplane.base.options import Duration, OptionGroup, Problem, option

__all__ = ["MODES", "RBAC", "WEBHOOK", "AuthorizationOptions"]

RBAC, WEBHOOK = "RBAC", "Webhook"
MODES = ("AlwaysAllow", "AlwaysDeny", RBAC, WEBHOOK)
"""What exists; ``system:masters`` comes before all of them."""

_ELSEWHERE = ("ABAC", "Node")


class AuthorizationOptions(OptionGroup):
    """The authorizers, asked in order."""

    title: ClassVar[str] = "Authorization"

    authorization_mode: tuple[str, ...] = option(
        (),
        flag="authorization-mode",
        description="authorizers in order: AlwaysAllow, AlwaysDeny, RBAC, Webhook; empty is RBAC or, where no roles "
        "are served, lets system:masters do all, controllers their work, anybody see health and version, and nobody "
        "else anything",
    )
    authorization_config: str = option(
        "",
        flag="authorization-config",
        description="file with an AuthorizationConfiguration (apiserver.config.k8s.io/v1): authorizers in order, "
        "instead of the flags; followed while the server runs",
    )
    webhook_config_file: str = option(
        "", flag="authorization-webhook-config-file", description="kubeconfig of the mode Webhook: where it is"
    )
    webhook_version: Literal["v1", "v1beta1"] = option(
        "v1beta1",
        flag="authorization-webhook-version",
        description="version of the SubjectAccessReview that the webhook is sent and answers with",
    )
    webhook_cache_authorized_ttl: Duration = option(
        300.0,
        flag="authorization-webhook-cache-authorized-ttl",
        ge=0,
        description="how long counts what the webhook has allowed",
    )
    webhook_cache_unauthorized_ttl: Duration = option(
        30.0,
        flag="authorization-webhook-cache-unauthorized-ttl",
        ge=0,
        description="how long counts what the webhook has not allowed",
    )

    def problems(self) -> Iterator[Problem]:
        if self.authorization_config and (self.authorization_mode or self.webhook_config_file):
            yield Problem(
                "authorization_config",
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* "
                "flags are defined",
            )
        known = ", ".join(MODES)
        for mode in self.authorization_mode:
            if mode in _ELSEWHERE:
                yield Problem("authorization_mode", f"{mode} is not supported by this server; supported: {known}")
            elif mode not in MODES:
                yield Problem(
                    "authorization_mode", f'authorization-mode "{mode}" is not a valid mode; supported: {known}'
                )
        if WEBHOOK in self.authorization_mode and not self.webhook_config_file:
            yield Problem("authorization_mode", "authorization-mode Webhook's authorization config file not passed")
        if self.webhook_config_file and not self.authorization_config and WEBHOOK not in self.authorization_mode:
            yield Problem(
                "webhook_config_file", "cannot specify --authorization-webhook-config-file without mode Webhook"
            )
        if len(set(self.authorization_mode)) != len(self.authorization_mode):
            modes = " ".join(f'"{mode}"' for mode in self.authorization_mode)
            yield Problem("authorization_mode", f"authorization-mode [{modes}] has mode specified more than once")
