"""Reviews of access: whom and what the authorizer is asked about, what it says, and what is wrong with a spec."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.decode import Decoder
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.authorization.localsubjectaccessreviews import LOCAL_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.selfsubjectaccessreviews import SELF_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from controlplane.apiserver.authorization.always import AlwaysAllow
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.masters import MastersAuthorizer
from controlplane.apiserver.authorization.rules import PathRule, ResourceRule, Rules
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.apiserver.endpoints.calls import Call
from controlplane.plugins.calls.access_reviews import AccessReviews, oneself, subject_of
from controlplane.plugins.calls.rules_reviews import RulesReviews
from tests.aio import run

KIM = UserInfo(name="kim", groups=("system:authenticated",))
GET_PODS = {"verb": "get", "resource": "pods"}


class Asked:
    """An authorizer that notes what it was asked and answers as it is told."""

    def __init__(self, answer: tuple[Decision, str] | Exception) -> None:
        self._answer = answer
        self.attributes: list[Attributes] = []

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        self.attributes.append(attributes)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def _admit(_obj: Obj) -> None:
    return None


def _warn(_text: str) -> None:
    raise AssertionError


def review(
    spec: Any,
    *,
    resource: Resource = SUBJECT_ACCESS_REVIEWS,
    answer: tuple[Decision, str] | Exception = (Decision.ALLOW, ""),
    metadata: Obj | None = None,
) -> tuple[Obj, list[Attributes]]:
    """A review's answer, and what the authorizer was asked."""
    obj = {"kind": resource.kind, "apiVersion": "authorization.k8s.io/v1", "metadata": metadata or {}, "spec": spec}
    assert Decoder(resource.kind, resource.versions[0].schema).decode(obj) == []
    authorizer = Asked(answer)
    who = oneself if resource is SELF_SUBJECT_ACCESS_REVIEWS else subject_of
    call = Call(user=KIM, namespace=obj["metadata"].get("namespace", ""), name="", admit=_admit, warn=_warn)
    return run(AccessReviews(resource, authorizer, who).answer(obj, call)), authorizer.attributes


def test_the_subject_and_what_is_asked_about_reach_the_authorizer() -> None:
    spec = {
        "user": "ann",
        "uid": "7",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "resourceAttributes": {
            **GET_PODS,
            "group": "apps",
            "subresource": "status",
            "namespace": "ns",
            "name": "a",
            "fieldSelector": {"rawSelector": "metadata.name=a"},
            "labelSelector": {
                "requirements": [
                    {"key": "a", "operator": "In", "values": ["1", "2"]},
                    {"key": "b", "operator": "DoesNotExist"},
                    {"key": "c", "operator": "Newer"},
                ]
            },
        },
    }
    _, (asked,) = review(spec)
    assert asked == Attributes(
        UserInfo(name="ann", uid="7", groups=("g",), extra={"k": ("v",)}),
        "get",
        group="apps",
        version="*",
        resource="pods",
        subresource="status",
        namespace="ns",
        name="a",
        field_selector="metadata.name=a",
        label_selector="a in (1,2),!b",
    )


def test_of_oneself_and_a_path() -> None:
    spec = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    _, (asked,) = review(spec, resource=SELF_SUBJECT_ACCESS_REVIEWS)
    assert asked == Attributes(KIM, "get", is_resource=False, path="/metrics")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((Decision.ALLOW, "RBAC: yes"), {"allowed": True, "reason": "RBAC: yes"}),
        ((Decision.DENY, ""), {"allowed": False, "denied": True}),
        ((Decision.NO_OPINION, ""), {"allowed": False}),
        (ValueError("no roles"), {"allowed": False, "evaluationError": "no roles"}),
    ],
)
def test_status(answer: tuple[Decision, str] | Exception, status: Obj) -> None:
    answered, _ = review({"user": "ann", "resourceAttributes": GET_PODS}, answer=answer)
    assert answered["status"] == status


@pytest.mark.parametrize(
    ("resource", "metadata", "spec", "fields"),
    [
        (SUBJECT_ACCESS_REVIEWS, {}, {}, ["spec.resourceAttributes", "spec.user"]),
        (
            SUBJECT_ACCESS_REVIEWS,
            {"name": "a"},
            {
                "groups": ["g"],
                "nonResourceAttributes": {},
                "resourceAttributes": {
                    "fieldSelector": {"requirements": [{"key": "", "operator": "In"}]},
                    "labelSelector": {"rawSelector": "a", "requirements": [{"key": "-", "operator": "Newer"}]},
                },
            },
            [
                "spec.nonResourceAttributes",
                "spec.resourceAttributes.fieldSelector.requirements[0].key",
                "spec.resourceAttributes.fieldSelector.requirements[0].values",
                "spec.resourceAttributes.labelSelector.rawSelector",
                "spec.resourceAttributes.labelSelector.requirements[0].key",
                "metadata",
            ],
        ),
        (
            LOCAL_SUBJECT_ACCESS_REVIEWS,
            {"namespace": "ns"},
            {"user": "ann", "resourceAttributes": GET_PODS},
            ["spec.resourceAttributes.namespace"],
        ),
        (
            LOCAL_SUBJECT_ACCESS_REVIEWS,
            {"namespace": "ns"},
            {"user": "ann", "nonResourceAttributes": {}},
            ["spec.nonResourceAttributes"],
        ),
        (SELF_SUBJECT_ACCESS_REVIEWS, {"labels": {"a": "b"}}, {}, ["spec.resourceAttributes", "metadata"]),
    ],
)
def test_what_is_wrong_is_told_without_a_kind(resource: Resource, metadata: Obj, spec: Obj, fields: list[str]) -> None:
    with pytest.raises(APIError) as caught:
        review(spec, resource=resource, metadata=metadata)
    assert caught.value.message.startswith('.authorization.k8s.io "" is invalid: ')
    assert "kind" not in caught.value.details
    assert [cause["field"] for cause in caught.value.details["causes"]] == fields


class OneRule(Asked):
    """Works by rules, and knows that it does not know all."""

    async def rules_for(self, _user: UserInfo, namespace: str) -> Rules:
        rule = ResourceRule(("get",), ("",), ("pods",), ("a",))
        return Rules((rule,), (PathRule(("get",), ()),), incomplete=True, error=f"no roles in {namespace}")


def test_rules_of_all_who_work_by_rules() -> None:
    nobody = Asked((Decision.NO_OPINION, ""))
    union = UnionAuthorizer(
        [
            ("masters", MastersAuthorizer()),
            ("one", OneRule((Decision.ALLOW, ""))),
            ("two", OneRule((Decision.ALLOW, ""))),
            ("silent", nobody),
            ("all", AlwaysAllow()),
        ]
    )
    obj = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": {"namespace": "ns"}}
    call = Call(user=KIM, namespace="", name="", admit=_admit, warn=_warn)
    answered = run(RulesReviews(union).answer(obj, call))
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert answered["status"] == {
        "resourceRules": [rule, rule, every],
        "nonResourceRules": [{"verbs": ["get"]}, {"verbs": ["get"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": True,
        "evaluationError": "no roles in ns",
    }
    with pytest.raises(APIError, match="no namespace on request"):
        run(RulesReviews(nobody).answer({**obj, "spec": {}}, call))
