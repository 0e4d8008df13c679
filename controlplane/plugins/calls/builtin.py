"""Who answers what is created and not kept: all that are built in."""

from __future__ import annotations

from controlplane.apis.authentication.user_info import GROUP
from controlplane.apiserver.endpoints.calls import CallKey
from controlplane.plugins.calls.api import CallDescriptor
from controlplane.plugins.calls.self_subject_reviews import SelfSubjectReviews
from controlplane.plugins.calls.token_requests import TokenRequests
from controlplane.plugins.calls.token_reviews import TokenReviews

__all__ = ["CALLS"]

CALLS: tuple[CallDescriptor, ...] = (
    CallDescriptor(
        CallKey("", "serviceaccounts", "token"),
        lambda s: TokenRequests(s.service_accounts, s.issuer, s.storage_of, clock=s.clock),
    ),
    CallDescriptor(CallKey(GROUP, "tokenreviews"), lambda s: TokenReviews(s.tokens, s.service_accounts.own_audiences)),
    CallDescriptor(CallKey(GROUP, "selfsubjectreviews"), lambda s: SelfSubjectReviews(clock=s.clock)),
)
