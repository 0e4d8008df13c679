"""Rules reviews: what who asks may do in a namespace, as the authorizers tell it that can.

Source: kubernetes' ``pkg/registry/authorization/selfsubjectrulesreview/rest.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import bad_request
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.authorization.rules import RuleResolver, Rules
from controlplane.apiserver.endpoints.calls import Call

__all__ = ["RulesReviews"]


class RulesReviews:
    """Answers with rules alone; upstream asks no admission about it."""

    __slots__ = ("_authorizer",)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``."""
        namespace = obj["spec"].get("namespace") or ""
        if not namespace:
            raise bad_request("no namespace on request")
        resolver = self._authorizer
        rules = await resolver.rules_for(call.user, namespace) if isinstance(resolver, RuleResolver) else Rules()
        status: Obj = {
            "resourceRules": [rule.shown() for rule in rules.resources],
            "nonResourceRules": [rule.shown() for rule in rules.paths],
            "incomplete": rules.incomplete,
        }
        if rules.error:
            status["evaluationError"] = rules.error
        return {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": {}, "spec": {}, "status": status}
