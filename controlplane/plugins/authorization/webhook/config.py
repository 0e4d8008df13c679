"""What is said of a webhook that decides."""

from __future__ import annotations

from controlplane.base.values import dataclass

__all__ = ["AuthorizerConfig", "WebhookConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookConfig:
    """``kubeconfig_file``: says where the webhook is. ``version``: of the SubjectAccessReview that is sent and
    answered. ``authorized_seconds``, ``unauthorized_seconds``: how long what it has allowed and not allowed counts,
    each if ``caches_…`` says so. ``denies_on_failure``: where it gives no answer, the request is refused rather than
    left to others. ``match_conditions``: in CEL; all must be true, or it is not asked."""

    kubeconfig_file: str
    version: str = "v1beta1"
    authorized_seconds: float = 300.0
    unauthorized_seconds: float = 30.0
    caches_authorized: bool = True
    caches_unauthorized: bool = True
    timeout_seconds: float = 30.0
    denies_on_failure: bool = False
    match_conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerConfig:
    """One authorizer of a chain: its type, a name of its own, and what is said of it if it is a webhook."""

    type: str
    name: str
    webhook: WebhookConfig | None = None
