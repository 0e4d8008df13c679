"""Reviews of one's own rules: what the asker may do in a namespace, as a list to show. Nothing of one is kept.

Source: the behaviour of kubernetes' authorization.k8s.io/v1 SelfSubjectRulesReview.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.native import array, boolean, record, string
from controlplane.apis.authorization.access import GROUP

__all__ = ["SELF_SUBJECT_RULES_REVIEWS"]

_RESOURCE_RULE = record(
    {
        "verbs": array(string(), "The verbs; '*' is all."),
        "apiGroups": array(string(), "The groups; '*' is all."),
        "resources": array(string(), "The resources, with subresources; '*' is all."),
        "resourceNames": array(string(), "The names; none is all."),
    },
    "What is allowed on resources.",
    go_type="v1.ResourceRule",
    required=("verbs",),
)

_PATH_RULE = record(
    {
        "verbs": array(string(), "The HTTP methods, in lower case; '*' is all."),
        "nonResourceURLs": array(string(), "The paths; '*' at the end is any rest."),
    },
    "What is allowed on paths.",
    go_type="v1.NonResourceRule",
    required=("verbs",),
)

_SCHEMA = record(
    {
        "spec": record(
            {"namespace": string("The namespace; required.")},
            "Where.",
            go_type="v1.SelfSubjectRulesReviewSpec",
        ),
        "status": record(
            {
                "resourceRules": array(_RESOURCE_RULE, "What the asker may do with resources, in any order."),
                "nonResourceRules": array(_PATH_RULE, "What the asker may do with paths, in any order."),
                "incomplete": boolean("Whether there may be more: an authorizer cannot list its rules."),
                "evaluationError": string("What kept the server from listing all."),
            },
            "The rules.",
            go_type="v1.SubjectRulesReviewStatus",
            required=("resourceRules", "nonResourceRules", "incomplete"),
        ),
    },
    "A question what the asker may do.",
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
