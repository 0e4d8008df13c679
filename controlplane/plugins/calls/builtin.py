"""Who answers what is created and not kept: all that are built in."""

from __future__ import annotations

from controlplane.apis.authentication.user_info import GROUP
from controlplane.apis.authorization.localsubjectaccessreviews import LOCAL_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.selfsubjectaccessreviews import SELF_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.selfsubjectrulesreviews import SELF_SUBJECT_RULES_REVIEWS
from controlplane.apis.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from controlplane.apiserver.endpoints.calls import CallKey
from controlplane.plugins.calls.access_reviews import access_reviews, oneself, subject_of
from controlplane.plugins.calls.api import CallDescriptor
from controlplane.plugins.calls.rules_reviews import RulesReviews
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
    *(
        CallDescriptor(CallKey(resource.group, resource.plural), access_reviews(resource, who))
        for resource, who in (
            (SUBJECT_ACCESS_REVIEWS, subject_of),
            (LOCAL_SUBJECT_ACCESS_REVIEWS, subject_of),
            (SELF_SUBJECT_ACCESS_REVIEWS, oneself),
        )
    ),
    CallDescriptor(
        CallKey(SELF_SUBJECT_RULES_REVIEWS.group, SELF_SUBJECT_RULES_REVIEWS.plural),
        lambda s: RulesReviews(s.authorizer),
    ),
)
