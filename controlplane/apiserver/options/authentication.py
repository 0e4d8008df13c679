"""Who may be who."""

from __future__ import annotations

from typing import ClassVar, Literal

from controlplane.apiserver.authentication.webhook import TokenWebhookConfig
from controlplane.base.options import Duration, OptionGroup, option

__all__ = ["AuthenticationOptions", "token_webhook_config"]


class AuthenticationOptions(OptionGroup):
    """Which credentials are accepted."""

    title: ClassVar[str] = "Authentication"

    client_ca_file: str = option(
        "",
        flag="client-ca-file",
        description="authority of client certificates, PEM (common name is the user, organizations are groups); "
        "without it one is made, and an admin certificate with it",
    )
    token_auth_file: str = option(
        "", flag="token-auth-file", description='file of static tokens, CSV: token,user,uid,"group1,group2"'
    )
    anonymous_auth: bool | None = option(
        None,
        flag="anonymous-auth",
        description="requests without credentials are system:anonymous in system:unauthenticated, else 401 (default "
        "true, or as --authentication-config has it)",
    )
    bootstrap_tokens: bool = option(
        False,
        flag="enable-bootstrap-token-auth",
        description="accept tokens that secrets of type bootstrap.kubernetes.io/token in kube-system hold",
    )
    authentication_config: str = option(
        "",
        flag="authentication-config",
        description="file with an AuthenticationConfiguration (apiserver.config.k8s.io/v1): token issuers, anonymous "
        "requests; followed while the server runs",
    )
    token_webhook_config_file: str = option(
        "",
        flag="authentication-token-webhook-config-file",
        description="kubeconfig of a webhook that is asked whose tokens are",
    )
    token_webhook_version: Literal["v1", "v1beta1"] = option(
        "v1beta1",
        flag="authentication-token-webhook-version",
        description="version of the TokenReview that the webhook is sent and answers with",
    )
    token_webhook_cache_ttl: Duration = option(
        120.0,
        flag="authentication-token-webhook-cache-ttl",
        ge=0,
        description="how long the webhook's answers count",
    )


def token_webhook_config(options: AuthenticationOptions) -> TokenWebhookConfig | None:
    if not options.token_webhook_config_file:
        return None
    return TokenWebhookConfig(
        file=options.token_webhook_config_file,
        version=options.token_webhook_version,
        cache_seconds=options.token_webhook_cache_ttl,
    )
