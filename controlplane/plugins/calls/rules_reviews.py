"""Reviews of one's own rules.

Source: kubernetes' ``pkg/registry/authorization/selfsubjectrulesreview/rest.go``.
"""

from __future__ import annotations

from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.status import bad_request
from controlplane.apiserver.authorization.rules import RuleResolver
from controlplane.apiserver.endpoints.calls import Call

__all__ = ["RulesReviews"]


class RulesReviews:
    """Answers with the rules of who asks."""

    __slots__ = ("_rules",)

    def __init__(self, rules: RuleResolver) -> None:
        self._rules = rules

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``; 400 if no namespace is named."""
        namespace = obj["spec"].get("namespace") or ""
        if not namespace:
            raise bad_request("no namespace on request")
        await call.admit(deepcopy(obj))
        found = self._rules.rules_for(call.user, namespace)
        status: Obj = {
            "resourceRules": [_shown(rule) for rule in found.rules if rule.resources],
            "nonResourceRules": [_shown(rule) for rule in found.rules if rule.non_resource_urls],
            "incomplete": found.incomplete,
        }
        if found.error:
            status["evaluationError"] = found.error
        return {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": {}, "spec": {}, "status": status}


def _shown(rule: PolicyRule) -> Obj:
    return {"verbs": [], **rule.as_object()}
