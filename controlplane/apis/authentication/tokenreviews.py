"""Token reviews: whose a bearer token is, asked by servers that are shown one.

Nothing of a review is kept: it is answered with its status filled in.

Source: the behaviour of kubernetes' authentication.k8s.io/v1 TokenReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.native import array, boolean, record, string
from controlplane.apis.authentication.user_info import GROUP, USER_INFO, USER_INFO_NUMBERS

__all__ = ["TOKEN_REVIEWS"]

_SCHEMA = record(
    {
        "spec": record(
            {
                "token": string("The bearer token."),
                "audiences": array(string(), "For whom the token must be good, one of these; the API server if empty."),
            },
            "What is asked.",
            go_type="v1.TokenReviewSpec",
        ),
        "status": record(
            {
                "authenticated": boolean("Whether the token is known and good."),
                "user": {**USER_INFO, "description": "Whose it is."},
                "audiences": array(string(), "Those that were asked for and for whom the token is good."),
                "error": string("Why the token could not be checked."),
            },
            "What the server knows of the token.",
            go_type="v1.TokenReviewStatus",
        ),
    },
    "A question whose a token is.",
    go_type="v1.TokenReview",
    required=("spec",),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "TokenReview": "metadata spec status",
        "TokenReviewSpec": "token audiences",
        "TokenReviewStatus": "authenticated user error audiences",
        **USER_INFO_NUMBERS,
    },
)

TOKEN_REVIEWS = Resource(
    group=GROUP,
    plural="tokenreviews",
    singular="tokenreview",
    kind="TokenReview",
    namespaced=False,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
)
