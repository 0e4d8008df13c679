"""Self subject rules reviews: what who asks may do in a namespace, as rules.

Source: kubernetes' authorization.k8s.io/v1 SelfSubjectRulesReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.native import array, boolean, record, string
from controlplane.apis.authorization.attributes import GROUP

__all__ = ["SELF_SUBJECT_RULES_REVIEWS"]

_RESOURCE_RULE = record(
    {
        "verbs": array(string(), "What may be done; '*' is everything."),
        "apiGroups": array(string(), "Groups of the resources; '*' is all."),
        "resources": array(string(), "The resources, with their subresources; '*' is all, '*/status' all of one."),
        "resourceNames": array(string(), "Names of single objects; none is all."),
    },
    "What is allowed on which resources.",
    go_type="v1.ResourceRule",
    required=("verbs",),
)

_PATH_RULE = record(
    {
        "verbs": array(string(), "Methods, in lower case; '*' is all."),
        "nonResourceURLs": array(string(), "Paths; '*' alone is all, at the end any rest."),
    },
    "What is allowed on which other paths.",
    go_type="v1.NonResourceRule",
    required=("verbs",),
)

_SCHEMA = record(
    {
        "spec": record(
            {"namespace": string("The namespace; it must be given.")},
            "Where.",
            go_type="v1.SelfSubjectRulesReviewSpec",
        ),
        "status": record(
            {
                "resourceRules": array(_RESOURCE_RULE, "What is allowed on resources, in no order."),
                "nonResourceRules": array(_PATH_RULE, "What is allowed on other paths, in no order."),
                "incomplete": boolean("Whether there may be more: an authorizer cannot tell its rules."),
                "evaluationError": string("What went wrong while the rules were collected."),
            },
            "The answer.",
            go_type="v1.SubjectRulesReviewStatus",
            required=("resourceRules", "nonResourceRules", "incomplete"),
        ),
    },
    "What who asks may do in a namespace.",
    go_type="v1.SelfSubjectRulesReview",
    required=("spec",),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "SelfSubjectRulesReview": "metadata spec status",
        "SelfSubjectRulesReviewSpec": "namespace",
        "SubjectRulesReviewStatus": "resourceRules nonResourceRules incomplete evaluationError",
        "ResourceRule": "verbs apiGroups resources resourceNames",
        "NonResourceRule": "verbs nonResourceURLs",
    },
)

SELF_SUBJECT_RULES_REVIEWS = Resource(
    group=GROUP,
    plural="selfsubjectrulesreviews",
    singular="selfsubjectrulesreview",
    kind="SelfSubjectRulesReview",
    namespaced=False,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
)
