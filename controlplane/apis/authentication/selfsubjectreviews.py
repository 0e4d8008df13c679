"""Reviews of oneself: who the server takes the asker for. What is sent is ignored, and nothing is kept.

Source: the behaviour of kubernetes' authentication.k8s.io/v1 SelfSubjectReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.native import record
from controlplane.apis.authentication.user_info import GROUP, USER_INFO, USER_INFO_NUMBERS

__all__ = ["SELF_SUBJECT_REVIEWS"]

_SCHEMA = record(
    {
        "status": record(
            {"userInfo": {**USER_INFO, "description": "The user who asks."}},
            "Who the asker is.",
            go_type="v1.SelfSubjectReviewStatus",
        )
    },
    "A question who oneself is.",
    go_type="v1.SelfSubjectReview",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "SelfSubjectReview": "metadata status",
        "SelfSubjectReviewStatus": "userInfo",
        **USER_INFO_NUMBERS,
    },
)

SELF_SUBJECT_REVIEWS = Resource(
    group=GROUP,
    plural="selfsubjectreviews",
    singular="selfsubjectreview",
    kind="SelfSubjectReview",
    namespaced=False,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
)
